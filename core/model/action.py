"""What an operator can want, in one table: menus, keys, commands and help are made from it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey

if TYPE_CHECKING:
    from core.ctl.features import Feature  # the room's first frame does without it


class Verb(StrEnum):
    """What is done."""

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
    INTERRUPT = "interrupt"
    END = "end"


Scope = Literal["sample", "task", "model", "process"]

Manner = Literal["score", "error", "cancel"]
"""How a cancel resolves what is in flight: scored as it is, marked errored, or cut off."""


@dataclass(frozen=True, slots=True)
class Change:
    """One knob to set.

    Attributes:
        knob: As `inspect ctl config` spells it with underscores: `max_samples`, `key`, ...
        value: Whole number, or None: clear the override.
        key: For the knob `key`, the name of the limit; else empty.
        model: For `max_connections`, the models it is restricted to; empty: all.
    """

    knob: str
    value: int | None
    key: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What is wanted, of whatever target.

    Attributes:
        now: A pause that also holds samples in flight at their next model call.
        manner: Of a cancel; None for every other verb.
        completed_only: A score that holds no sample.
        tool_call: Which call `cancel-call` ends; None: the only one in progress.
        changes: What `config` sets.
    """

    verb: Verb
    now: bool = False
    manner: Manner | None = None
    completed_only: bool = False
    tool_call: str | None = None
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An action as a menu offers it on one kind of target.

    Attributes:
        name: What headless commands and the palette call it (with its manner: `cancel-score`).
        letter: In the action menu of that scope.
        word: On a button; one or two words.
        help: One sentence.
        needs: What Inspect must be able to do; None: nothing (signals).
        is_destructive: What it takes can't be given back; words are typed to confirm it.
        dry_run: Whether the process itself can say beforehand what it would do.
    """

    name: str
    scope: Scope
    action: Action
    letter: str
    word: str
    help: str
    needs: "Feature | None"
    is_destructive: bool = False
    dry_run: bool = True


def scope_of(target: Target) -> Scope:
    """Return what kind of thing a target is."""
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
    """Return how `action` is offered on a scope; None: it is none of that scope's."""
    for offer in OFFERS:
        if offer.scope == scope and _kind(offer.action) == _kind(action):
            return offer
    return None


def offers_on(scope: Scope) -> tuple[Offer, ...]:
    """Return all that is offered on a scope, in the order of its menu."""
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
        word="end and score", needs="cancel sample", is_destructive=True,
        help="End the sample and score the work it did so far.",
    ),
    Offer(
        name="cancel-error", scope="sample", action=_cancel("error"), letter="E",
        word="end as error", needs="cancel sample", is_destructive=True,
        help="End the sample and mark it errored.",
    ),
    Offer(
        name="cancel", scope="sample", action=_cancel("cancel"), letter="x",
        word="cancel", needs="cancel sample", is_destructive=True,
        help="Cut the sample off: no score, no error; one that waits leaves the queue.",
    ),
    Offer(
        name="cancel-call", scope="sample", action=Action(verb=Verb.CANCEL_CALL), letter="t",
        word="cancel tool call", needs="cancel tool call",
        help="End one tool call in progress; the sample goes on with its error.",
    ),
    Offer(
        name="requeue", scope="sample", action=Action(verb=Verb.REQUEUE), letter="e",
        word="requeue", needs="requeue sample",
        help="Run an errored or cancelled sample again, within this run.",
    ),
    Offer(
        name="score", scope="sample", action=Action(verb=Verb.SCORE), letter="n",
        word="score now", needs="score sample",
        help="Score the work so far; the sample is held for a moment and goes on.",
    ),
    # -- tasks
    Offer(
        name="pause", scope="task", action=_PAUSE, letter="p",
        word="pause", needs="pause task",
        help="Start no new samples; those in flight finish.",
    ),
    Offer(
        name="pause-now", scope="task", action=_PAUSE_NOW, letter="P",
        word="pause now", needs="hard pause",
        help="Also hold the samples in flight at their next model call; their clocks run on.",
    ),
    Offer(
        name="resume", scope="task", action=_RESUME, letter="r",
        word="resume", needs="resume task",
        help="Take the task's own pause away.",
    ),
    Offer(
        name="drain", scope="task", action=Action(verb=Verb.DRAIN), letter="d",
        word="drain", needs="drain task", is_destructive=True,
        help="Let what is in flight finish, abandon what is queued, then end.",
    ),
    Offer(
        name="cancel-score", scope="task", action=_cancel("score"), letter="s",
        word="end and score", needs="cancel task", is_destructive=True,
        help="Score what is in flight as it stands, abandon what is queued, then end.",
    ),
    Offer(
        name="cancel-error", scope="task", action=_cancel("error"), letter="E",
        word="end as error", needs="cancel task", is_destructive=True,
        help="Mark what is in flight errored, abandon what is queued, then end.",
    ),
    Offer(
        name="cancel", scope="task", action=_cancel("cancel"), letter="x",
        word="cancel", needs="cancel task", is_destructive=True,
        help="Cut everything off now; the log ends with an error, finished samples stay in it.",
    ),
    Offer(
        name="score", scope="task", action=Action(verb=Verb.SCORE), letter="n",
        word="score now", needs="score task",
        help="Score what is in flight as it stands; each sample is held for a moment.",
    ),
    Offer(
        name="score-completed", scope="task",
        action=Action(verb=Verb.SCORE, completed_only=True), letter="o",
        word="score finished", needs="score task",
        help="Metrics of the finished samples alone: holds nothing, asks no model.",
    ),
    Offer(
        name="flush", scope="task", action=Action(verb=Verb.FLUSH), letter="f",
        word="flush log", needs="log flush", dry_run=False,
        help="Write finished samples that wait in memory to the log now.",
    ),
    Offer(
        name="config", scope="task", action=Action(verb=Verb.CONFIG), letter="c",
        word="config", needs="change task config",
        help="Change the knobs of the task and of its process.",
    ),
    # -- models
    Offer(
        name="pause", scope="model", action=_PAUSE, letter="p",
        word="pause model", needs="pause model",
        help="Start no new samples of this model's tasks; those in flight finish.",
    ),
    Offer(
        name="pause-now", scope="model", action=_PAUSE_NOW, letter="P",
        word="pause model now", needs="hard pause",
        help="Also hold every call to this model, a grader's included; clocks run on.",
    ),
    Offer(
        name="resume", scope="model", action=_RESUME, letter="r",
        word="resume model", needs="resume model",
        help="Take the model's pause away.",
    ),
    # -- processes
    Offer(
        name="pause", scope="process", action=_PAUSE, letter="p",
        word="pause", needs="pause process",
        help="Start no task, no retry and no sample in the whole process.",
    ),
    Offer(
        name="pause-now", scope="process", action=_PAUSE_NOW, letter="P",
        word="pause now", needs="hard pause",
        help="Also hold the samples in flight at their next model call; their clocks run on.",
    ),
    Offer(
        name="resume", scope="process", action=_RESUME, letter="r",
        word="resume", needs="resume process",
        help="Take the process's own pause away; pauses of tasks and models stay.",
    ),
    Offer(
        name="keep", scope="process", action=Action(verb=Verb.KEEP), letter="k",
        word="keep", needs="keep", dry_run=False,
        help="Let the process stay, parked, once its eval is over.",
    ),
    Offer(
        name="release", scope="process", action=Action(verb=Verb.RELEASE), letter="l",
        word="release", needs="release", dry_run=False,
        help="Let the process end once its eval is over; a parked one ends now.",
    ),
    Offer(
        name="config", scope="process", action=Action(verb=Verb.CONFIG), letter="c",
        word="config", needs="change process config",
        help="Change the knobs of the process.",
    ),
    Offer(
        name="interrupt", scope="process", action=Action(verb=Verb.INTERRUPT), letter="i",
        word="interrupt", needs=None, is_destructive=True, dry_run=False,
        help="SIGINT, as Ctrl+C: what is in flight is cancelled, the logs are written, it ends.",
    ),
    Offer(
        name="end", scope="process", action=Action(verb=Verb.END), letter="K",
        word="end a husk", needs=None, is_destructive=True, dry_run=False,
        help="SIGKILL, for what is left of a process whose logs are final.",
    ),
)  # fmt: skip
"""In the order of the menus."""

CLEARABLE = frozenset(
    {
        "max_samples", "max_tasks", "timeout", "attempt_timeout", "stream_idle_timeout",
        "max_retries", "time_limit", "token_limit", "message_limit",
    }
)  # fmt: skip
"""Knobs whose override can be taken away again."""
