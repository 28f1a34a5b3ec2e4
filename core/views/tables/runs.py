"""The table of runs, newest first."""

from collections.abc import Mapping
from dataclasses import dataclass

from core import format as fmt
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.machine import Machine
from core.model.run import OVER, Run, RunLog, RunState
from core.text import shown
from core.views.cells import UNKNOWN, Cell, Span, Table, Tone, span_of, text_cell
from core.views.glyphs import GlyphName, glyph
from core.views.tables.fields import Fields, field, table
from core.views.tables.machines import marks
from core.views.tables.orders import when

STYLES: Mapping[RunState, tuple[GlyphName, Tone]] = {
    RunState.QUEUED: ("wait", "dim"),
    RunState.PREPARING: ("wait", "plain"),
    RunState.STARTING: ("wait", "plain"),
    RunState.RUNNING: ("run", "good"),
    RunState.FINISHING: ("finishing", "plain"),
    RunState.SUCCESS: ("success", "good"),
    RunState.ERROR: ("failed", "error"),
    RunState.CANCELLED: ("cancelled", "dim"),
    RunState.LOST: ("lost", "error"),
    RunState.UNREADABLE: ("unknown", "warning"),
    RunState.ELSEWHERE: ("unknown", "dim"),
}
"""Glyph and tone of each state; the table shows its word beside them."""
_RANKS = {
    state: rank for rank, state in enumerate((*(s for s in RunState if s not in OVER), *OVER))
}


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run with its machine, and the time at the desk, Unix seconds."""

    run: Run
    machine: Machine | None
    now: float


def run_glyph(run: Run) -> Span:
    """Return the glyph of a run's state."""
    name, tone = STYLES[run.state]
    return Span(glyph(name), tone)


def took(run: Run, now: float) -> float | None:
    """Return how long a run has run, seconds; None: it has not started."""
    if run.started_at is None:
        return None
    return max(0.0, (now if run.ended_at is None else run.ended_at) - run.started_at)


def log_folder(directory: str, log_dir: str) -> str:
    """Return the path of a log folder; a relative one is in the run's folder. Untrusted."""
    is_whole = not log_dir or log_dir.startswith(("/", "~")) or "://" in log_dir
    return log_dir if is_whole else f"{directory}/{log_dir}"


def scores(log: RunLog) -> Cell:
    """Return the scores of a log with their names."""
    spans: list[Span] = []
    for metric in log.metrics:
        stderr = f"{fmt.score(metric.value, metric.stderr)}"
        spans.append(Span(shown(f"{'  ' * bool(spans)}{metric.name} ", 80), "dim"))
        spans.append(Span(shown(stderr), "strong"))
    return tuple(spans)


def result(run: Run) -> Cell:
    """Return the message of a run, or else its scores."""
    if run.message:
        return text_cell(run.message, "warning" if run.has_failed else "dim", 300)
    found = [cell for log in run.logs if (cell := scores(log))]
    if run.leftover:
        found.append(text_cell(run.leftover, "warning", 300))
    between = Span(shown("; "), "dim")
    return tuple(part for cell in found for part in (between, *cell))[1:]


def launched_by(run: Run) -> Cell:
    """Return who launched a run, and whether that was someone else."""
    if run.is_ours:
        return text_cell(run.operator or "you", "dim")
    return (Span(shown(f"{run.operator or 'someone'}, not you"), "warning"),)


RUN_FIELDS = Fields[RunLine](
    (
        field(
            "sign",
            lambda line: (run_glyph(line.run),),
            lambda line: _RANKS[line.run.state],
            title="",
            width=1,
        ),
        field(
            "state",
            lambda line: (span_of(str(line.run.state), STYLES[line.run.state][1]),),
            lambda line: _RANKS[line.run.state],
            width=8,
        ),
        field(
            "machine",
            lambda line: (*marks(line.machine), *text_cell(line.run.machine)),
            lambda line: line.run.machine,
            width=6,
        ),
        field(
            "task",
            lambda line: text_cell(line.run.task, "strong"),
            lambda line: line.run.task,
            width=20,
            grow=2,
        ),
        field(
            "model",
            lambda line: text_cell(line.run.model),
            lambda line: line.run.model,
            width=12,
            grow=1,
            rank=2,
        ),
        field(
            "result",
            lambda line: result(line.run),
            lambda line: "".join(s.text for s in result(line.run) if isinstance(s, Span)) or None,
            title="score or message",
            width=20,
            grow=3,
            rank=1,
        ),
        field(
            "launched",
            lambda line: (Span(when(line.run.at, line.now), "dim"),),
            lambda line: -line.run.at,
            width=8,
            rank=3,
        ),
        field(
            "time",
            lambda line: (
                UNKNOWN
                if (seconds := fmt.sane(took(line.run, line.now))) is None
                else (Span(fmt.duration(seconds), "dim"),)
            ),
            lambda line: took(line.run, line.now),
            align="right",
            width=5,
            rank=1,
        ),
        field(
            "engine",
            lambda line: text_cell(line.run.engine, "dim"),
            lambda line: line.run.engine,
            width=6,
            rank=5,
        ),
        field(
            "by",
            lambda line: launched_by(line.run),
            lambda line: line.run.operator,
            width=6,
            rank=4,
        ),
    )
)


def newest_first(fleet: Fleet) -> tuple[Run, ...]:
    """Return the runs of a fleet, the newest first; of one launch in the order of its matrix."""
    runs = list(fleet.runs.values())
    return tuple(sorted(runs, key=lambda run: -(fmt.sane(run.at) or 0.0)))


def runs_table(fleet: Fleet, now: float) -> Table[str]:
    """Return every run by its id, newest first.

    Args:
        fleet: What is known.
        now: Unix seconds at the desk.
    """
    runs = newest_first(fleet)
    still = sum(not run.is_over for run in runs)
    counted = f"{still} active · {len(runs)} total" if still else f"{len(runs)} total"
    return table(
        RUN_FIELDS,
        (
            RUN_FIELDS.row(
                run.id,
                RunLine(run, fleet.machines.get(run.machine), now),
                "dim" if run.is_over and not run.has_failed else "plain",
            )
            for run in runs
        ),
        title="Runs",
        footer=counted if runs else "",
        empty="no runs yet: press n to launch one",
    )


def way_to_tasks(fleet: Fleet, run: Run) -> ProcessKey | TaskKey | None:
    """Return the place of a run's tasks: its only task, or its process; None: no process."""
    process = fleet.process_of_run(run)
    if process is None:
        return None
    tasks = [key for key in process.tasks if key in fleet.tasks]
    return tasks[0] if len(tasks) == 1 else process.key
