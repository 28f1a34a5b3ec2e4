"""Signs: what a kind of finding sees now. The judge turns lasting signs into findings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from core.config.judge import JudgeConfig, JudgeRule
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.finding import Proposal, Severity
from core.model.machine import Machine
from core.model.process import Process
from core.model.task import Task

QUIET_S = 5.0
"""A subject whose answers do not change is judged this often, unless a kind says otherwise."""

MAX_SIGNS = 100
"""Signs of one kind at one subject, such as the samples of a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a kind of finding may look at.

    Attributes:
        fleet: All that is known.
        rules: The numbers of the config.
        at: Unix seconds at the desk.
        open: The keys of the signs of this kind and subject whose findings are open: a sign that
            may flap lasts until a lower bound than the one that opened it.
        memo: What kinds have computed for this event, by keys of their own: what is the same for
            every subject is computed once. A process may have thousands of tasks.
    """

    fleet: Fleet
    rules: JudgeConfig
    at: float
    open: frozenset[str] = frozenset()
    memo: dict[object, Any] = field(default_factory=dict[object, Any], compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """What a kind of finding sees at one subject now.

    Attributes:
        key: Distinguishes the signs of one kind at one subject; empty where there is only one.
        severity: How bad it is; None: not bad yet. Such a sign opens nothing, but counts as a
            reading: a sign that was seen twice by then opens as soon as it is bad.
        reading: The time of the reading that shows it, on any one clock.
        text: What happens, with its numbers, then what to do; two sentences at most.
        since: When it began, Unix seconds at the desk; None: unknown.
        start: The same on the clock of its machine, where the machine itself says it; None: it
            does not. A sign that starts anew is another one: its finding closes, and it needs
            readings of its own.
        cause, proposals, closes_when: As in `core.model.finding.Finding`.
        machine, process, task, sample, model, run: What it is about.
        count: The number of things that it counts.
        covered_by: Kinds about the whole fleet: while one of them is open for `model`, that one
            tells of the cause, and this sign opens nothing.
    """

    key: str = ""
    severity: Severity | None
    reading: float
    text: str
    since: float | None = None
    start: float | None = None
    cause: str = ""
    proposals: tuple[Proposal, ...] = ()
    closes_when: str = ""
    machine: MachineName | None
    process: ProcessKey | None = None
    task: TaskKey | None = None
    sample: SampleKey | None = None
    model: str = ""
    run: str = ""
    count: int = 1
    covered_by: tuple[str, ...] = ()


def noted(
    key: str, reading: float, since: float, start: float | None, machine: MachineName
) -> Sign:
    """Return a sign that is not bad yet, and of which no finding is open: it says nothing."""
    return Sign(
        key=key,
        severity=None,
        reading=reading,
        text="",
        since=since,
        start=start,
        machine=machine,
    )


class Signs(NamedTuple):
    """What one look at a subject shows.

    Attributes:
        reading: The time of the reading that was judged, on the clock of its signs. Signs that
            are not among `found` count as missed only in a reading later than their last.
        found: The signs that it shows.
        is_final: Whether its subject has ended: what is not found is over at once.
        quiet_for: Seconds for which the subject shows nothing else, as long as its answers do not
            change; it is not judged meanwhile.
    """

    reading: float
    found: tuple[Sign, ...] = ()
    is_final: bool = False
    quiet_for: float = QUIET_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of finding: its rule and its words. Each stands in a file of `core.judge.kinds`.

    A rule returns None where it can't tell (the link is down, nothing was read): then nothing
    opens, worsens or closes.

    Attributes:
        name: One word; the kind of its findings.
        help: What it finds, one sentence.
        numbers: The numbers of the config that it uses.
        readings: In how many readings a sign must be seen before it opens a finding.
        misses: How many readings, one after the other, must lack it before its finding closes.
        by_samples: Whether its rule of tasks looks at samples alone. A running task is then judged
            when its samples were read, and not each time its row was.
        of_task, of_process, of_machine, of_fleet: Return what is seen at such a subject; None: the
            kind has nothing to say of it.
    """

    name: str
    help: str
    numbers: tuple[JudgeRule, ...] = ()
    readings: int = 2
    misses: int = 2
    by_samples: bool = False
    of_task: Callable[[Scene, Task], Signs | None] | None = None
    of_process: Callable[[Scene, Process], Signs | None] | None = None
    of_machine: Callable[[Scene, Machine], Signs | None] | None = None
    of_fleet: Callable[[Scene], Signs | None] | None = None


OVER = Signs(reading=0.0, is_final=True)
"""What is seen of a subject that has ended: nothing, for certain."""


def signs(reading: float, found: Iterable[Sign] = (), quiet_for: float = QUIET_S) -> Signs:
    """Return the signs of a reading, `MAX_SIGNS` of them at most."""
    return Signs(reading, tuple(islice(found, MAX_SIGNS)) if found else (), quiet_for=quiet_for)
