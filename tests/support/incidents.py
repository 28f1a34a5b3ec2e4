"""The incident library: recordings of real evals in trouble, and what must be found in each.

Each incident is two files of tests/incidents: NAME.toml (what happened, how to make it again, what
must be found) and NAME.jsonl.gz (the recording). See tests/incidents/README.md.
"""

import gzip
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from core.config import rules
from core.config.judge import JudgeConfig
from core.config.judge_table import judge_values
from core.desk.step import advance
from core.event_codec import event_of
from core.events import (
    Event,
    LinkChanged,
    LogRead,
    LogUnreadable,
    MachineRead,
    OperationsSeen,
    ProcessGone,
    ProcessSeen,
    ReadsUnchanged,
    SamplesSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.judge.judged_subjects import FLEET_INTERVAL_S
from core.judge.kinds import all_kinds, all_rules
from core.model.finding import Finding, Severity
from tests.support.tree import ROOT

FOLDER = ROOT / "tests" / "incidents"
READINGS = (
    SamplesSeen, TasksSeen, ReadsUnchanged, MachineRead, OperationsSeen, LogRead, LogUnreadable,
    ProcessSeen, ProcessGone, LinkChanged,
)  # fmt: skip
"""Events that show something new of the subject of a finding."""
_OF_FLEET = {each.name: each.readings for each in all_kinds() if each.of_fleet is not None}
"""Kinds that look at the whole fleet, and in how many looks a sign must be seen."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A finding that an incident must show: a table of `found` in its file.

    Attributes:
        kind, severity: As in `core.model.finding.Finding`. A finding that worsens is expected once
            for each severity.
        after: The moment (a key of `moments`) from which the rule counts; empty: the first event.
        within: Seconds from that moment until the rule allows the finding at the earliest.
        machine, task, sample, model: What it is about, as far as it matters.
        cause: A part of its cause at the end of the recording.
        times: How many such findings there are.
        closes: Whether it must be closed at the end of the recording.
        proof: The event that alone proves it, such as `LogRead`; empty: any reading.
    """

    kind: str
    severity: Severity
    after: str = ""
    within: float = 0.0
    machine: str = ""
    task: str = ""
    sample: str = ""
    model: str = ""
    cause: str = ""
    times: int = 1
    closes: bool | None = None
    proof: str = ""

    def fits(self, seen: "Seen") -> bool:
        """Whether a finding is the expected one."""
        found = seen.finding
        machine = found.machine or (found.process.machine if found.process is not None else "")
        task = found.task.task_id if found.task is not None else ""
        sample = str(found.sample.sample_id) if found.sample is not None else ""
        return (
            (found.kind, seen.severity) == (self.kind, self.severity)
            and self.machine in {"", machine}
            and self.task in {"", task}
            and self.sample in {"", sample}
            and self.model in {"", found.model}
        )


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A finding as it first stood at a severity.

    Attributes:
        severity: That severity.
        at: When it came to that, Unix seconds at the desk.
        finding: The finding as it then stood.
    """

    severity: Severity
    at: float
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a recording shows.

    Attributes:
        seen: Each finding at each severity above notice that it reached, in order.
        notices: Those that never went above.
        last: The fleet at the end.
    """

    seen: tuple[Seen, ...]
    notices: tuple[Seen, ...]
    last: Fleet


@dataclass(frozen=True, kw_only=True)
class Incident:
    """One incident.

    Attributes:
        name: The name of its files.
        told: Its whole table.
        rules: The numbers by which it is judged.
        expected: What must be found; nothing else above notice may be.
        moments: Named moments of the recording, seconds after its first event.
    """

    name: str
    told: Mapping[str, Any]
    rules: JudgeConfig
    expected: tuple[Expected, ...]
    moments: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def recording(self) -> Path:
        """Its recording."""
        return FOLDER / f"{self.name}.jsonl.gz"

    @property
    def is_healthy(self) -> bool:
        """Whether nothing above notice may be found."""
        return not self.expected

    def events(self) -> tuple[Event, ...]:
        """Return the events of its recording."""
        with gzip.open(self.recording, "rt", encoding="utf-8") as lines:
            return tuple(event_of(line) for line in lines)


def incident_of(path: Path) -> Incident:
    """Read an incident from its file."""
    told = tomllib.loads(path.read_text())
    values = judge_values(told.get("judge", {}), all_rules())
    return Incident(
        name=path.stem,
        told=told,
        rules=JudgeConfig(
            values=values,
            budgets=rules.budgets(told.get("budgets", {})),
            prices=rules.prices(told.get("prices", {})),
        ),
        expected=tuple(Expected(**each) for each in told.get("found", ())),
        moments=told.get("moments", {}),
    )


@cache
def all_incidents() -> tuple[Incident, ...]:
    """Return the library, in the order of its names."""
    return tuple(incident_of(path) for path in sorted(FOLDER.glob("*.toml")))


def judged(events: Sequence[Event], rules: JudgeConfig) -> Judged:
    """Fold and judge events at full speed; return all that was found on the way."""
    fleet = Fleet()
    seen: dict[tuple[str, Severity], Seen] = {}
    for event in events:
        before = fleet.findings
        fleet = advance(fleet, event, rules)
        if fleet.findings is before:
            continue
        known = set(before)
        for each in fleet.findings:
            if each not in known:
                key = (each.id, each.severity)
                seen.setdefault(key, Seen(severity=each.severity, at=event.at, finding=each))
    return Judged(
        seen=tuple(each for each in seen.values() if each.severity != "notice"),
        notices=tuple(each for each in seen.values() if each.severity == "notice"),
        last=fleet,
    )


def deadline(events: Sequence[Event], incident: Incident, expected: Expected) -> float:
    """Return by when a finding must be there, Unix seconds at the desk.

    That is the reading after the first one at which its rule allows it. Kinds that look at the
    whole fleet do so every few seconds, so two of their looks are that far apart.
    """
    first = events[0].at
    earliest = first + incident.moments.get(expected.after, 0.0) + expected.within
    apart = FLEET_INTERVAL_S if _OF_FLEET.get(expected.kind, 0) > 1 else 0.0
    if expected.kind in _OF_FLEET:
        earliest += FLEET_INTERVAL_S
    readings = [each.at for each in events if each.at >= earliest and _may_prove(each, expected)]
    times = sorted(set(readings))
    second = [each for each in times[1:] if each >= times[0] + apart]
    return second[0] if second else times[-1] if times else earliest


def _may_prove(event: Event, expected: Expected) -> bool:
    if expected.proof:
        return type(event).__name__ == expected.proof
    if expected.sample:
        is_unchanged = isinstance(event, ReadsUnchanged) and bool(event.samples)
        return is_unchanged or isinstance(event, SamplesSeen)
    return isinstance(event, READINGS)
