"""A plan: an action on concrete targets, each with its preview, and how it is confirmed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from core.act.preview import Preview
from core.act.refusals import Refusal
from core.act.requests import Request
from core.confirmation import words_to_confirm
from core.format import plural
from core.ids import SampleKey, Target, TaskKey, process_of
from core.model.action import Action, Offer
from core.model.order import Basis
from core.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One target of a plan.

    Attributes:
        target: The target of the action.
        action: The requested action.
        offer: How the action is offered on the target's scope.
        name: The target's label; harmless text.
        where: Its machine, and process or task; harmless text.
        typed: Its name as a TARGET of a command; harmless text.
        command: The equivalent shell command.
        basis: The fields that must still hold when the plan is confirmed.
        preview: The preview of the target's dry run; None: it has no preview.
        refusal: Why nothing will be sent; None: something will be.
        request: What is sent; None: nothing is.
        is_ours: Whether this operator's evalroom launched the run.
        is_production: Whether its machine is marked as production.
        undo: The action that undoes it; None: it can't be undone.
        moved: The fields that changed since its first preview; it was previewed again.
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
    typed: str = ""

    @property
    def is_sent(self) -> bool:
        """Whether confirming the plan sends something to this target."""
        return self.refusal is None and self.request is not None


Confirmation = Literal["enter", "yes", "words"]
"""How a plan is confirmed: Enter; a yes (someone else launched the run); words to type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An action on concrete targets, to be confirmed by an operator.

    Attributes:
        id: Unique everywhere.
        title: What the plan is called, in a few words.
        action: The action of its first step.
        steps: One for each target, in the order of the requests.
        reason: Why, in the operator's words.
    """

    id: str
    title: str
    action: Action
    steps: tuple[Step, ...]
    reason: str = ""

    @property
    def sent(self) -> tuple[Step, ...]:
        """The steps that send something."""
        return tuple(step for step in self.steps if step.is_sent)

    @property
    def confirmation(self) -> Confirmation:
        """How the plan is confirmed."""
        sent = self.sent
        if any(step.offer.is_destructive or step.is_production for step in sent):
            return "words"
        return "enter" if all(step.is_ours for step in sent) else "yes"

    @property
    def words(self) -> str:
        """The words to type to confirm the plan; empty if it needs no words.

        For one target its label, for several the verb and their number.
        """
        sent = self.sent
        if self.confirmation != "words":
            return ""
        return words_to_confirm(str(self.action.verb), [step.name for step in sent])

    @property
    def others(self) -> int:
        """The number of targets whose run someone else launched."""
        return sum(not step.is_ours for step in self.sent)

    def with_step(self, index: int, step: Step) -> "Plan":
        """Return the plan with one step in another's place."""
        return replace(self, steps=(*self.steps[:index], step, *self.steps[index + 1 :]))


def blast_radius(plan: Plan) -> str:
    """Return how many machines, processes, tasks and samples a plan affects."""
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
    return "affects " + ", ".join(each for each in counted if each)


def _task(target: Target) -> TaskKey | None:
    if isinstance(target, SampleKey):
        return target.task
    return target if isinstance(target, TaskKey) else None


def skipped(steps: Iterable[Step]) -> tuple[tuple[str, int], ...]:
    """Return why targets are left out: each reason with its count, most frequent first."""
    reasons = Counter(step.refusal.sentence for step in steps if step.refusal is not None)
    return tuple(reasons.most_common())


def unmet(plan: Plan, *, words: str, yes: bool) -> str | None:
    """Return what the operator must still do to confirm `plan`; None: it is confirmed."""
    match plan.confirmation:
        case "words":
            typed = words.strip()
            if typed == plan.words:
                return None
            asked = f"type {plan.words} to confirm"
            return f"{shown(typed, 60)} does not match: {asked}" if typed else asked
        case "yes":
            others = plural(plan.others, "target")
            verb = "was" if plan.others == 1 else "were"
            how = "Press y (or pass --yes) to act on " + ("it" if plan.others == 1 else "them")
            return None if yes else f"{others} {verb} launched by someone else. {how} anyway."
        case _:
            return None
