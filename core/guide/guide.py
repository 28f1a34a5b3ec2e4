"""A guide: a short checklist that runs itself, says where it stands, and can be taken up again.

Nothing in it is free text of an evaluated agent.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from core.ids import Address, ProcessKey, Target
from core.model.order import Instance


class GuideKind(StrEnum):
    """What a guide is for; also what headless commands call it."""

    PARK = "park"
    INCIDENT = "incident"
    FINISH = "finish"
    CLEANUP = "cleanup"


class StepKind(StrEnum):
    """What a step does, or what it waits for."""

    COMMAND = "command"
    PAUSE = "pause"
    QUIESCE = "quiesce"
    FLUSH = "flush"
    INTERRUPT = "interrupt"
    END = "end"
    RESUME = "resume"
    DRAIN = "drain"
    SCORE = "score"
    CANCEL = "cancel"
    RELEASE = "release"


WATCHING = frozenset({StepKind.COMMAND, StepKind.QUIESCE, StepKind.END})
"""Steps that send nothing: they run by themselves. All others wait for the operator."""


class StepState(StrEnum):
    """Where a step stands. Waiting: for its turn, then for the operator."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    SKIPPED = "skipped"
    STOPPED = "stopped"


OVER = frozenset({StepState.DONE, StepState.SKIPPED, StepState.STOPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideStep:
    """One line of the checklist.

    Attributes:
        title: What it is, in a few words.
        sentence: Where it stands; harmless.
        address: To what it goes, where that is not all of the guide's targets.
        plans: The ids of the plans that were made for it: orders of these are its own.
        settled: Targets of which a plan said that nothing is to be done.
        since: When its turn came, Unix seconds at the desk; None before.
    """

    kind: StepKind
    title: str
    state: StepState = StepState.WAITING
    sentence: str = ""
    address: Address | None = None
    plans: tuple[str, ...] = ()
    settled: tuple[Address, ...] = ()
    since: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in it."""
        return self.state in OVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """A checklist on its targets.

    Attributes:
        id: Unique everywhere.
        name: How its targets are called, for people; harmless.
        made_at: Unix seconds at the desk.
        instance: The evalroom that runs it, or ran it last.
        is_now: An incident's pause also holds what is in flight.
        command: What resumes the eval later; empty: not known, or not built yet.
        variables: Names of variables to set again before that command.
        logs: The logs of the targets' running tasks when it began.
        notes: What to mind, sentences; harmless.
        ended_at: When nothing more was to do, Unix seconds at the desk; None: it is open.
    """

    id: str
    kind: GuideKind
    name: str
    targets: tuple[Address, ...]
    steps: tuple[GuideStep, ...]
    made_at: float
    instance: Instance
    is_now: bool = False
    command: str = ""
    variables: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    ended_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do."""
        return self.ended_at is None

    @property
    def current(self) -> int | None:
        """Index of the step whose turn it is; None: there is none."""
        if not self.is_open:
            return None
        return next((at for at, step in enumerate(self.steps) if not step.is_over), None)

    @property
    def step(self) -> GuideStep | None:
        """The step whose turn it is."""
        at = self.current
        return None if at is None else self.steps[at]

    @property
    def waits(self) -> bool:
        """Whether it waits for the operator."""
        step = self.step
        return step is not None and step.kind not in WATCHING and step.state is StepState.WAITING

    @property
    def process(self) -> ProcessKey:
        """The process of its first target."""
        return self.targets[0].process

    @property
    def places(self) -> tuple[Target, ...]:
        """What it is on."""
        return tuple(address.target for address in self.targets)

    def with_step(self, at: int, step: GuideStep) -> "Guide":
        """Return the guide with one step in another's place."""
        return replace(self, steps=(*self.steps[:at], step, *self.steps[at + 1 :]))


def was_stopped(guide: Guide) -> bool:
    """Whether it ended before its end."""
    return any(step.state is StepState.STOPPED for step in guide.steps)
