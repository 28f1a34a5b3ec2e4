"""What the log of an ended eval says, and what the room says of it: as JSON and on its screen."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, read_eval_log, read_eval_log_sample_summaries

Line = tuple[str, ...]
"""A line of the table of tasks: sign, machine, task, samples done, samples errored."""
SIGNS: Mapping[str, str] = {"success": "✓", "error": "✗", "cancelled": "□", "lost": "!"}
_LINE = re.compile(r"│ ([✓✗□!]) (m\d+) +(\w+) +mock/\S+ +\S+ +(\d+)/\d+ +(\d+) ")


@dataclass(frozen=True)
class Truth:
    """What an eval's log says."""

    state: str
    completed: int
    errored: int
    cancelled: int
    score: float | None


def truth_of(log: Path | None) -> Truth | None:
    """Read the log of an eval that ended; None: it left none."""
    if log is None:
        return None
    header: EvalLog = read_eval_log(str(log), header_only=True)
    summaries = read_eval_log_sample_summaries(str(log)) if header.status != "started" else []
    cancelled = sum(each.error is not None and "Cancel" in str(each.error) for each in summaries)
    errored = sum(each.error is not None for each in summaries) - cancelled
    metrics = header.results.scores[0].metrics if header.results and header.results.scores else {}
    score = metrics["accuracy"].value if "accuracy" in metrics else None
    return Truth(
        state="lost" if header.status == "started" else header.status,
        completed=len(summaries) - errored - cancelled,
        errored=errored,
        cancelled=cancelled,
        score=score,
    )


def line_of(machine: str, task: str, truth: Truth) -> Line:
    """Return the line that a screen may show of an eval."""
    return SIGNS[truth.state], machine, task, str(truth.completed), str(truth.errored)


def lines_on(screen: str) -> list[Line]:
    """Return the lines of ended evals on a screen."""
    return [match.groups() for match in _LINE.finditer(screen)]


def rows_by_eval(answer: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the task rows by the number of their eval."""
    found: dict[int, dict[str, Any]] = {}
    for row in answer["fleet"]["tasks"]:
        folders = [part for part in Path(row["log_location"]).parts if part[:1] == "e"]
        numbers = [int(part[1:]) for part in folders if part[1:].isdigit()]
        if numbers:
            found[numbers[-1]] = row
    return found
