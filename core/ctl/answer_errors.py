"""Checks an answer of the control channel and raises the error that fits a bad one."""

from typing import cast

from core.ctl.decode import JsonObject, objects, parse, text
from core.ctl.features import since, upgrade_command
from core.errors import (
    AnswerMalformed,
    EvalroomError,
    NotThere,
    RequestFailed,
    TooBusy,
    TooLarge,
    Unsupported,
)
from core.model.feature import Feature
from core.ports import Reply
from core.text import Shown, shown

_OK = 200
_NOT_FOUND = 404
_UNAVAILABLE = 503
_MAX_REASON_CHARS = 300
_IN_WORDS = {
    "refused": "its control server is down",
    "no socket": "the file of its control socket was removed",
    "no channel": "it has no control socket that evalroom can reach",
    "reset": "its control server closed the connection",
    "not allowed": "its control server belongs to another user",
    "unsafe": "its control socket is not where Inspect puts it",
    "bad answer": "its answer is not HTTP",
    "short answer": "its answer was cut off",
}
"""The words of the probe for a read that failed, as a sentence about the process."""
_COMMAND = 400


def good_body(
    reply: Reply, what: str, feature: Feature | None = None, python: str | None = None
) -> bytes:
    """Return the body of a successful answer.

    Args:
        reply: The answer to a GET.
        what: The thing that was asked for; begins the error's sentence, harmless to show.
        feature: The feature that the route belongs to; None: no Inspect is known to have it.
        python: The interpreter that runs the eval; None: unknown.

    Raises:
        NotThere: Inspect knows no such process, task or sample, or it has not started.
        Unsupported: This Inspect does not have the route.
        TooLarge: The answer is over 32 MiB.
        TooBusy: The process has too many open connections.
        RequestFailed: Any other failure.
    """
    if reply.status == _OK and reply.error is None:
        return reply.body
    own_words = _own_words(reply)
    match reply.status:
        case 404 if own_words == "Not Found":
            raise _unsupported(what, feature, python)
        case 404:
            # "sample 9 (epoch 1) not found" names the thing itself.
            is_named = own_words.endswith(" not found")
            raise NotThere(
                own_words if is_named else f"{what}: {own_words or 'not found'}", status=_NOT_FOUND
            )
        case 503:
            raise TooBusy(
                f"{what}: the eval has too many connections open",
                "evalroom retries by itself; stop other programs that poll this eval",
                status=_UNAVAILABLE,
            )
        case _ if reply.error is not None and "too large" in reply.error:
            raise TooLarge(f"{what}: the answer is over 32 MiB", "narrow the request")
        case _:
            why = own_words or "no answer"
            raise RequestFailed(f"can't read {what}: {why}", status=reply.status)


def advice_for(error: EvalroomError, python: str | None) -> str:
    """Return an error's advice; an upgrade command names the interpreter that needs it.

    Args:
        error: An error of a read of a process.
        python: The interpreter that runs that process; None: unknown.
    """
    if isinstance(error, Unsupported) and error.since is not None:
        return _upgrade(error.since, python)
    return error.advice


def _unsupported(what: str, feature: Feature | None, python: str | None) -> Unsupported:
    first = None if feature is None else since(feature)
    return Unsupported(
        f"{what}: this Inspect is too old for it",
        "upgrade inspect-ai in the environment that the eval runs in"
        if first is None
        else _upgrade(first, python),
        status=_NOT_FOUND,
        since=first,
    )


def _upgrade(first: str, python: str | None) -> str:
    command = shown(upgrade_command(python, first), _COMMAND)
    which = "" if python else ", with the python that runs the eval"
    return f"upgrade to Inspect {first} or newer: {command}{which}"


def _own_words(reply: Reply) -> Shown | str:
    """Return the answer's own reason, in one harmless line; empty if it gives none."""
    found = _reason(reply.body) if reply.body else ""
    if found:
        return shown(found, _MAX_REASON_CHARS)
    if reply.error is not None:
        return shown(_IN_WORDS.get(reply.error, reply.error), _MAX_REASON_CHARS)
    return f"HTTP {reply.status}" if reply.status not in {None, _NOT_FOUND} else ""


def _reason(body: bytes) -> str:
    try:
        value = parse(body)
    except AnswerMalformed:
        return body[:_MAX_REASON_CHARS].decode("utf-8", "replace")
    if not isinstance(value, dict):
        return ""
    fields = cast("JsonObject", value)
    wrong = objects(fields, "detail")
    if wrong:
        return "; ".join(text(each, "msg") or "" for each in wrong[:3])
    return text(fields, "error") or text(fields, "detail") or ""
