"""A guide: a short checklist that shows its progress and can be continued after a restart.

It contains no free text of an evaluated agent.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from core.ids import Address, MachineName, ProcessKey, Target
from core.model.order import Instance


class GuideKind(StrEnum):
    """The purpose of a guide; its value is the name in headless commands."""

    INTERRUPT = "interrupt"
    INCIDENT = "incident"
    FINISH = "finish"
    CLEANUP = "cleanup"

    @classmethod
    def _missing_(cls, value: object) -> "GuideKind | None":
        """Read the word of older databases."""
        return cls.INTERRUPT if value == "park" else None


class StepKind(StrEnum):
    """The action of a step, or the condition that it waits for."""

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
    CONTAINERS = "containers"


WATCHING = frozenset({StepKind.COMMAND, StepKind.QUIESCE, StepKind.END})
"""Steps that send no order: they run by themselves. All others wait for the operator."""


class StepState(StrEnum):
    """The state of a step. A waiting step waits for its turn, then for the operator."""

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
        kind: What it does, or waits for.
        title: What it does, in a few words.
        state: Its state.
        sentence: Its progress, one sentence; harmless.
        address: The address of its target; None: all targets of the guide.
        plans: The ids of the plans that were made for it. Orders of these plans belong to it.
        settled: The targets that need no order, according to a plan.
        since: When its turn came, Unix seconds at the desk; None: not yet.
        machine: The machine that it is about, for a step without a target.
        containers: The ids of the containers that it removes.
    """

    kind: StepKind
    title: str
    state: StepState = StepState.WAITING
    sentence: str = ""
    address: Address | None = None
    plans: tuple[str, ...] = ()
    settled: tuple[Address, ...] = ()
    since: float | None = None
    machine: MachineName | None = None
    containers: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether the step is done, skipped or stopped."""
        return self.state in OVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """A checklist for its targets.

    Attributes:
        id: Unique everywhere.
        kind: Its purpose.
        name: The name of its targets, for people; harmless.
        targets: The addresses of its targets.
        steps: Its steps, in order.
        made_at: When it was started, Unix seconds at the desk.
        instance: The evalroom that runs it, or ran it last.
        is_now: Whether an incident's pause also holds samples in flight.
        command: The command that resumes the run later; empty: not known.
        variables: Names of environment variables to set before that command.
        logs: The logs of the targets' running tasks when it was started.
        notes: Sentences that the operator should know; harmless.
        ended_at: When it ended, Unix seconds at the desk; None: it is open.
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
        """Whether it has not ended."""
        return self.ended_at is None

    @property
    def current(self) -> int | None:
        """The index of the current step; None if the guide has ended."""
        if not self.is_open:
            return None
        return next((at for at, step in enumerate(self.steps) if not step.is_over), None)

    @property
    def step(self) -> GuideStep | None:
        """The current step; None if the guide has ended."""
        at = self.current
        return None if at is None else self.steps[at]

    @property
    def waits(self) -> bool:
        """Whether the current step waits for the operator."""
        step = self.step
        return step is not None and step.kind not in WATCHING and step.state is StepState.WAITING

    @property
    def process(self) -> ProcessKey:
        """The process of its first target."""
        return self.targets[0].process

    @property
    def places(self) -> tuple[Target, ...]:
        """Its targets."""
        return tuple(address.target for address in self.targets)

    def with_step(self, at: int, step: GuideStep) -> "Guide":
        """Return the guide with the step at an index replaced."""
        return replace(self, steps=(*self.steps[:at], step, *self.steps[at + 1 :]))


def was_stopped(guide: Guide) -> bool:
    """Whether the guide was stopped before its last step."""
    return any(step.state is StepState.STOPPED for step in guide.steps)
