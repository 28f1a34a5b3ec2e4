"""Every action that an operator can take, in one table: menus, keys, commands and help use it."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.model.feature import Feature


class Verb(StrEnum):
    """The kind of an action."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    CANCEL_CALL = "cancel-call"
    DRAIN = "drain"
    REQUEUE = "requeue"
    SCORE = "score"
    FLUSH = "flush"
    CONFIG = "config"
    KEEP = "keep"
    RELEASE = "release"
    RECOVER = "recover"
    INTERRUPT = "interrupt"
    KILL = "kill"

    @classmethod
    def _missing_(cls, value: object) -> "Verb | None":
        """Read the word of older recordings and databases."""
        return next((verb for verb, word in OLDER_VERBS.items() if word == value), None)


OLDER_VERBS = MappingProxyType({Verb.KILL: "end"})
"""The word of an older evalroom for a verb that has another word now."""


Scope = Literal["sample", "task", "model", "process"]

Manner = Literal["score", "error", "cancel"]
"""How a cancel ends the samples in flight: scored as they are, marked errored, or cut off."""


@dataclass(frozen=True, slots=True)
class Change:
    """One knob and its new value.

    Attributes:
        knob: The name in `inspect ctl config`, with underscores: `max_samples`, `key`, ...
        value: The new value; None clears the override.
        key: For the knob `key`, the name of the limit; else empty.
        model: For `max_connections`, the model that it is restricted to; empty: all models.
    """

    knob: str
    value: int | None
    key: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action, without its target.

    Attributes:
        verb: The kind of the action.
        now: Whether a pause also holds samples in flight at their next model call.
        manner: How a cancel ends samples; None for every other verb.
        completed_only: Whether a score uses finished samples only, and so holds no sample.
        tool_call: The id of the call that `cancel-call` ends; None: the only one in progress.
        changes: The knobs that `config` sets.
    """

    verb: Verb
    now: bool = False
    manner: Manner | None = None
    completed_only: bool = False
    tool_call: str | None = None
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An action as it is offered on one kind of target.

    Attributes:
        name: Its name in headless commands and the palette (with its manner: `cancel-score`).
        scope: The kind of target.
        action: The action.
        letter: Its key in the action menu of that scope.
        word: Its label on a button; one to three words.
        help: What it does, one sentence.
        needs: The feature of Inspect that it needs; None for signals, which need none.
        is_destructive: Whether its effect can't be undone; the operator types words to confirm it.
        dry_run: Whether the process has a dry run for it.
    """

    name: str
    scope: Scope
    action: Action
    letter: str
    word: str
    help: str
    needs: Feature | None
    is_destructive: bool = False
    dry_run: bool = True


def scope_of(target: Target) -> Scope:
    """Return the scope of a target."""
    match target:
        case SampleKey():
            return "sample"
        case TaskKey():
            return "task"
        case ModelKey():
            return "model"
        case ProcessKey():
            return "process"


def offer_of(action: Action, scope: Scope) -> Offer | None:
    """Return the offer of `action` on a scope; None: it does not apply to that scope."""
    for offer in OFFERS:
        if offer.scope == scope and _kind(offer.action) == _kind(action):
            return offer
    return None


def offers_on(scope: Scope) -> tuple[Offer, ...]:
    """Return all offers on a scope, in the order of its menu."""
    return tuple(offer for offer in OFFERS if offer.scope == scope)


def _kind(action: Action) -> tuple[object, ...]:
    return (action.verb, action.now, action.manner, action.completed_only)


_PAUSE, _PAUSE_NOW = Action(verb=Verb.PAUSE), Action(verb=Verb.PAUSE, now=True)
_RESUME = Action(verb=Verb.RESUME)


def _cancel(manner: Manner) -> Action:
    return Action(verb=Verb.CANCEL, manner=manner)


OFFERS: tuple[Offer, ...] = (
    # -- samples
    Offer(
        name="cancel-score", scope="sample", action=_cancel("score"), letter="s",
        word="cancel and score", needs="cancel sample", is_destructive=True,
        help="Cancel the sample and score the work it did so far.",
    ),
    Offer(
        name="cancel-error", scope="sample", action=_cancel("error"), letter="E",
        word="cancel as error", needs="cancel sample", is_destructive=True,
        help="Cancel the sample and mark it errored.",
    ),
    Offer(
        name="cancel", scope="sample", action=_cancel("cancel"), letter="x",
        word="cancel", needs="cancel sample", is_destructive=True,
        help="Cancel the sample without a score or an error; a queued sample leaves the queue.",
    ),
    Offer(
        name="cancel-call", scope="sample", action=Action(verb=Verb.CANCEL_CALL), letter="t",
        word="cancel tool call", needs="cancel tool call",
        help="Cancel one tool call in progress; the sample continues with an error from the call.",
    ),
    Offer(
        name="requeue", scope="sample", action=Action(verb=Verb.REQUEUE), letter="e",
        word="requeue", needs="requeue sample",
        help="Run an errored or cancelled sample again, within this run.",
    ),
    Offer(
        name="score", scope="sample", action=Action(verb=Verb.SCORE), letter="n",
        word="score now", needs="score sample",
        help="Score the work so far; the sample is held for a moment, then continues.",
    ),
    # -- tasks
    Offer(
        name="pause", scope="task", action=_PAUSE, letter="p",
        word="pause", needs="pause task",
        help="Start no new samples; those in flight finish.",
    ),
    Offer(
        name="pause-now", scope="task", action=_PAUSE_NOW, letter="P",
        word="pause now", needs="pause now",
        help="Start no new samples, and hold those in flight at their next model call;"
        " time limits keep running.",
    ),
    Offer(
        name="resume", scope="task", action=_RESUME, letter="r",
        word="resume", needs="resume task",
        help="Remove the task's own pause.",
    ),
    Offer(
        name="drain", scope="task", action=Action(verb=Verb.DRAIN), letter="d",
        word="drain", needs="drain task", is_destructive=True,
        help="Let samples in flight finish, abandon queued samples, then end the task.",
    ),
    Offer(
        name="cancel-score", scope="task", action=_cancel("score"), letter="s",
        word="cancel and score", needs="cancel task", is_destructive=True,
        help="Score samples in flight as they are, abandon queued samples, then end the task.",
    ),
    Offer(
        name="cancel-error", scope="task", action=_cancel("error"), letter="E",
        word="cancel as error", needs="cancel task", is_destructive=True,
        help="Mark samples in flight as errored, abandon queued samples, then end the task.",
    ),
    Offer(
        name="cancel", scope="task", action=_cancel("cancel"), letter="x",
        word="cancel", needs="cancel task", is_destructive=True,
        help="Cut everything off now; the log ends with an error and keeps finished samples.",
    ),
    Offer(
        name="score", scope="task", action=Action(verb=Verb.SCORE), letter="n",
        word="score now", needs="score task",
        help="Score samples in flight as they are; each sample is held for a moment.",
    ),
    Offer(
        name="score-finished", scope="task",
        action=Action(verb=Verb.SCORE, completed_only=True), letter="o",
        word="score finished", needs="score task",
        help="Compute metrics of the finished samples only: no sample is held, no model is called.",
    ),
    Offer(
        name="flush", scope="task", action=Action(verb=Verb.FLUSH), letter="f",
        word="flush log", needs="log flush", dry_run=False,
        help="Write finished samples from memory to the log now.",
    ),
    Offer(
        name="config", scope="task", action=Action(verb=Verb.CONFIG), letter="c",
        word="config", needs="change task config",
        help="Change the knobs of the task and of its process.",
    ),
    Offer(
        name="recover", scope="task", action=Action(verb=Verb.RECOVER), letter="v",
        word="recover log", needs=None, dry_run=False,
        help="Write a new log of a dead eval, with the samples that its buffer still holds.",
    ),
    # -- models
    Offer(
        name="pause", scope="model", action=_PAUSE, letter="p",
        word="pause model", needs="pause model",
        help="Start no new samples of this model's tasks; those in flight finish.",
    ),
    Offer(
        name="pause-now", scope="model", action=_PAUSE_NOW, letter="P",
        word="pause model now", needs="pause now",
        help="Start no new samples, and hold every call to this model, graders included;"
        " time limits keep running.",
    ),
    Offer(
        name="resume", scope="model", action=_RESUME, letter="r",
        word="resume model", needs="resume model",
        help="Remove the model's pause.",
    ),
    # -- processes
    Offer(
        name="pause", scope="process", action=_PAUSE, letter="p",
        word="pause", needs="pause process",
        help="Start no new task, retry or sample in the whole process.",
    ),
    Offer(
        name="pause-now", scope="process", action=_PAUSE_NOW, letter="P",
        word="pause now", needs="pause now",
        help="Start no new samples, and hold those in flight at their next model call;"
        " time limits keep running.",
    ),
    Offer(
        name="resume", scope="process", action=_RESUME, letter="r",
        word="resume", needs="resume process",
        help="Remove the process's own pause; pauses of tasks and models stay.",
    ),
    Offer(
        name="keep", scope="process", action=Action(verb=Verb.KEEP), letter="k",
        word="keep", needs="keep", dry_run=False,
        help="Keep the process alive (parked) after its eval ends.",
    ),
    Offer(
        name="release", scope="process", action=Action(verb=Verb.RELEASE), letter="l",
        word="release", needs="release", dry_run=False,
        help="Let the process exit when its eval ends; a parked process exits now.",
    ),
    Offer(
        name="config", scope="process", action=Action(verb=Verb.CONFIG), letter="c",
        word="config", needs="change process config",
        help="Change the knobs of the process.",
    ),
    Offer(
        name="interrupt", scope="process", action=Action(verb=Verb.INTERRUPT), letter="i",
        word="interrupt", needs=None, is_destructive=True, dry_run=False,
        help="Send SIGINT, as Ctrl+C does: samples are cancelled, logs written, the process exits.",
    ),
    Offer(
        name="kill", scope="process", action=Action(verb=Verb.KILL), letter="K",
        word="kill leftover process", needs=None, is_destructive=True, dry_run=False,
        help="Send SIGKILL to a process whose logs are final but that did not exit.",
    ),
)  # fmt: skip
"""Every offer, in the order of the menus."""

CLEARABLE = frozenset(
    {
        "max_samples", "max_tasks", "timeout", "attempt_timeout", "stream_idle_timeout",
        "max_retries", "time_limit", "token_limit", "message_limit",
    }
)  # fmt: skip
"""Knobs whose override can be cleared."""

KNOB_UNITS = {
    "time_limit": "seconds",
    "timeout": "seconds",
    "attempt_timeout": "seconds",
    "stream_idle_timeout": "seconds",
    "log_shared": "seconds",
    "log_buffer": "samples",
    "token_limit": "tokens",
    "message_limit": "messages",
}
"""The units of knobs that are not plain counts."""
