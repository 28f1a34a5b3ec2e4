"""A plan: an action on concrete targets, each with its preview, and how it is confirmed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from core.act.preview import Preview
from core.act.refusals import Refusal
from core.act.requests import Request
from core.format import plural
from core.ids import SampleKey, Target, TaskKey, process_of
from core.model.action import Action, Offer
from core.model.order import Basis
from core.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One target of a plan.

    Attributes:
        name: How the target is called, for people; harmless.
        where: Machine and process or task, for people; harmless.
        preview: What its dry run said; None where it was not asked.
        refusal: Why nothing will be sent; None where something will.
        request: What is sent; None where nothing is.
        is_ours: Whether this operator's evalroom launched the run.
        is_production: Whether its machine is marked so.
        undo: What takes it back; None: nothing does.
        has_moved: It changed since it was previewed, and was previewed again.
        moved: Which fields those were.
    """

    target: Target
    action: Action
    offer: Offer
    name: str
    where: str
    command: str
    basis: Basis
    preview: Preview | None = None
    refusal: Refusal | None = None
    request: Request | None = None
    is_ours: bool = False
    is_production: bool = False
    undo: Action | None = None
    moved: tuple[str, ...] = ()

    @property
    def is_sent(self) -> bool:
        """Whether confirming the plan sends something to this target."""
        return self.refusal is None and self.request is not None


Confirmation = Literal["enter", "yes", "words"]
"""How much a plan asks for: Enter; a yes (it is somebody else's run); words to type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an operator is asked to confirm.

    Attributes:
        title: What it is, in a few words.
        reason: Why, in the operator's words.
    """

    id: str
    title: str
    action: Action
    steps: tuple[Step, ...]
    made_at: float
    reason: str = ""

    @property
    def sent(self) -> tuple[Step, ...]:
        """The steps that something is sent for."""
        return tuple(step for step in self.steps if step.is_sent)

    @property
    def confirmation(self) -> Confirmation:
        """How it is confirmed."""
        sent = self.sent
        if any(step.offer.is_destructive or step.is_production for step in sent):
            return "words"
        return "enter" if all(step.is_ours for step in sent) else "yes"

    @property
    def words(self) -> str:
        """What is typed to confirm it; empty where nothing is.

        One target: its name. Several: the verb and their count.
        """
        sent = self.sent
        if self.confirmation != "words":
            return ""
        name = sent[0].name.strip() if len(sent) == 1 else ""
        return name or f"{self.action.verb} {len(sent)}"

    @property
    def others(self) -> int:
        """How many of the targets somebody else launched."""
        return sum(not step.is_ours for step in self.sent)

    def with_step(self, index: int, step: Step) -> "Plan":
        """Return the plan with one step in another's place."""
        return replace(self, steps=(*self.steps[:index], step, *self.steps[index + 1 :]))


def blast_radius(plan: Plan) -> str:
    """Return in one sentence how much a plan reaches."""
    sent = plan.sent
    if not sent:
        return "nothing will be sent"
    targets = [step.target for step in sent]
    samples = len({each for each in targets if isinstance(each, SampleKey)})
    tasks = len({_task(each) for each in targets} - {None})
    counted = [
        plural(len({process_of(each).machine for each in targets}), "machine"),
        plural(len({process_of(each) for each in targets}), "process", "processes"),
        plural(tasks, "task") if tasks else "",
        plural(samples, "sample") if samples else "",
    ]
    return "reaches " + ", ".join(each for each in counted if each)


def _task(target: Target) -> TaskKey | None:
    if isinstance(target, SampleKey):
        return target.task
    return target if isinstance(target, TaskKey) else None


def skipped(steps: Iterable[Step]) -> tuple[tuple[str, int], ...]:
    """Return why targets are left out, and how many for each reason, the most first."""
    reasons = Counter(step.refusal.sentence for step in steps if step.refusal is not None)
    return tuple(reasons.most_common())


def unmet(plan: Plan, *, words: str, yes: bool) -> str | None:
    """Return what confirming `plan` still asks for; None: nothing."""
    match plan.confirmation:
        case "words":
            typed = words.strip()
            if typed == plan.words:
                return None
            asked = f"type {plan.words} to confirm it"
            return f"{shown(typed, 60)} is something else: {asked}" if typed else asked
        case "yes":
            others = plural(plan.others, "target")
            return None if yes else f"{others} launched by somebody else: it takes a yes"
        case _:
            return None
