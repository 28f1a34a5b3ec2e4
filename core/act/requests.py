"""The request that carries an action out. Inspect takes every parameter in the query."""

from dataclasses import dataclass
from typing import Literal, assert_never

from core.ctl.routes import path, with_query
from core.errors import Unsupported
from core.frames import Frame
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.model.action import Action, Change, Verb

SIGNALS: dict[Verb, Literal["INT", "KILL"]] = {Verb.INTERRUPT: "INT", Verb.KILL: "KILL"}

RECOVER = "RECOVER"
"""The method of the request that has a log recovered; its path is that of the log."""

Query = tuple[str, str | float | bool | None]


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent to a process: a mutation of its control channel, or a signal.

    Attributes:
        method: `POST`, `PATCH`, `SIGNAL`, or `RECOVER`.
        path: The path with its query; for a signal its name, `INT` or `KILL`; for a recovery the
            path of the log.
    """

    method: str
    path: str

    def frame(self, process: ProcessKey) -> Frame:
        """Return the frame that carries it; the connection adds its id and deadline."""
        head = {"pid": process.pid, "start": process.start}
        if self.method == "SIGNAL":
            return Frame("signal", {**head, "signal": self.path})
        return Frame("send", {**head, "method": self.method, "path": self.path})

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def request_of(
    action: Action,
    target: Target,
    *,
    eval_id: str = "",
    dry_run: bool,
    author: str = "",
    reason: str = "",
    log: str = "",
) -> Request:
    """Return the request that carries `action` out on `target`, or asks for its dry run.

    Args:
        action: One that is offered on the target's scope.
        target: Its target.
        eval_id: The id of the attempt, for a sample.
        dry_run: Whether to ask only for a dry run; the verb must have one.
        author: The operator; sent where the channel takes it (config).
        reason: In the operator's words; sent where the channel takes it (config).
        log: The path of the log, for a recovery.
    """
    if action.verb is Verb.RECOVER:
        return Request(RECOVER, log)
    signal = SIGNALS.get(action.verb)
    if signal is not None:
        return Request("SIGNAL", signal)
    if action.verb is Verb.CONFIG:
        query = (*_knobs(action.changes), ("author", author or None), ("reason", reason or None))
        return Request("PATCH", with_query(_config(target), *query, _dry(dry_run)))
    where, query = _post(action, target, eval_id)
    return Request("POST", with_query(where, *query, _dry(dry_run)))


def _dry(dry_run: bool) -> Query:
    return ("dry_run", True if dry_run else None)


def _post(action: Action, target: Target, eval_id: str) -> tuple[str, tuple[Query, ...]]:
    now: Query = ("now", True if action.now else None)
    step = _step(action.verb)
    match target:
        case SampleKey():
            query: tuple[Query, ...] = (
                ("sample_id", str(target.sample_id)),
                ("epoch", target.epoch),
                ("action", action.manner),
                ("tool_call_id", action.tool_call),
            )
            return path("evals", eval_id, "sample", step), query
        case TaskKey():
            completed: Query = ("completed_only", True if action.completed_only else None)
            query = (now, ("action", action.manner), completed)
            return path("tasks", target.task_id, step), query
        case ModelKey():
            return path("models", step), (("model", target.model), now)
        case ProcessKey():
            return path(step), (now,)


def _step(verb: Verb) -> str:
    """Return the last part of a verb's path."""
    match verb:
        case Verb.FLUSH:
            return "log-flush"
        case Verb.CANCEL_CALL:
            return "cancel-tool-call"
        case (
            Verb.PAUSE | Verb.RESUME | Verb.CANCEL | Verb.DRAIN | Verb.REQUEUE | Verb.SCORE
            | Verb.KEEP | Verb.RELEASE
        ):  # fmt: skip
            return str(verb)
        case Verb.CONFIG | Verb.RECOVER | Verb.INTERRUPT | Verb.KILL:
            raise Unsupported(f"{verb} is not a POST")
        case _:
            assert_never(verb)


def _config(target: Target) -> str:
    return path("tasks", target.task_id, "config") if isinstance(target, TaskKey) else "/config"


def _knobs(changes: tuple[Change, ...]) -> tuple[Query, ...]:
    query: list[Query] = []
    for change in changes:
        value = "clear" if change.value is None else change.value
        if change.knob == "key":
            query += [("key", change.key), ("key_limit", value)]
        else:
            query += [(change.knob, value), ("model", change.model or None)]
    return tuple(query)


def split_changes(action: Action) -> tuple[Action, ...]:
    """Split `action` into actions that fit into one request each.

    A config request names at most one key and one model; several take several requests.
    """
    if action.verb is not Verb.CONFIG:
        return (action,)
    alone = [each for each in action.changes if each.knob == "key" or each.model]
    rest = tuple(each for each in action.changes if each not in alone)
    groups = ([rest] if rest else []) + [(each,) for each in alone]
    return tuple(Action(verb=Verb.CONFIG, changes=group) for group in groups)
