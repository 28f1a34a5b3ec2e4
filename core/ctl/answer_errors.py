"""Is an answer a good one? If not, which of our errors it is."""

from typing import cast

from core.ctl.decode import JsonObject, objects, parse, text
from core.ctl.features import Feature, since, upgrade_command
from core.errors import (
    AnswerMalformed,
    EvalroomError,
    NotThere,
    RequestFailed,
    TooBusy,
    TooLarge,
    Unsupported,
)
from core.ports import Reply
from core.text import Shown, shown

_OK = 200
_NOT_FOUND = 404
_UNAVAILABLE = 503
_SAID = 300
_COMMAND = 400


def good_body(
    reply: Reply, what: str, feature: Feature | None = None, python: str | None = None
) -> bytes:
    """Return the body of an answer that is good.

    Args:
        reply: Of a GET.
        what: What was asked for, for the error's sentence; harmless to show.
        feature: What that needs of an Inspect; None: what none has yet.
        python: The interpreter that runs the eval, where known.

    Raises:
        NotThere: Inspect knows no such process, task or sample, or it has not started.
        Unsupported: That Inspect has no such route.
        TooLarge: The answer is over 32 MiB.
        TooBusy: Too many connections to that process are open.
        RequestFailed: Any other answer than a good one.
    """
    if reply.status == _OK and reply.error is None:
        return reply.body
    said = _said(reply)
    match reply.status:
        case 404 if said == "Not Found":
            raise _unsupported(what, feature, python)
        case 404:
            raise NotThere(f"{what}: {said or 'not found'}", status=_NOT_FOUND)
        case 503:
            raise TooBusy(
                f"{what}: that eval has too many connections open",
                "it is asked again by itself; end other pollers of this eval",
                status=_UNAVAILABLE,
            )
        case _ if reply.error is not None and "too large" in reply.error:
            raise TooLarge(f"{what}: the answer is over 32 MiB", "narrow the request")
        case _:
            raise RequestFailed(f"{what}: {said or 'no answer'}", status=reply.status)


def advice_for(error: EvalroomError, python: str | None) -> str:
    """Return an error's advice; where that is an upgrade, for the interpreter that needs it.

    Args:
        error: Of a read of a process.
        python: The interpreter that runs that process, where known.
    """
    if isinstance(error, Unsupported) and error.since is not None:
        return _upgrade(error.since, python)
    return error.advice


def _unsupported(what: str, feature: Feature | None, python: str | None) -> Unsupported:
    first = None if feature is None else since(feature)
    return Unsupported(
        f"{what}: that Inspect is too old to tell",
        "upgrade inspect-ai in the environment that the eval runs in"
        if first is None
        else _upgrade(first, python),
        status=_NOT_FOUND,
        since=first,
    )


def _upgrade(first: str, python: str | None) -> str:
    command = shown(upgrade_command(python, first), _COMMAND)
    which = "" if python else ", with the python that the eval runs in"
    return f"it takes Inspect {first} or newer: {command}{which}"


def _said(reply: Reply) -> Shown | str:
    """Return what the answer says went wrong, in one harmless line."""
    found = _reason(reply.body) if reply.body else ""
    if found:
        return shown(found, _SAID)
    if reply.error is not None:
        return shown(reply.error, _SAID)
    return f"HTTP {reply.status}" if reply.status not in {None, _NOT_FOUND} else ""


def _reason(body: bytes) -> str:
    try:
        value = parse(body)
    except AnswerMalformed:
        return body[:_SAID].decode("utf-8", "replace")
    if not isinstance(value, dict):
        return ""
    fields = cast("JsonObject", value)
    wrong = objects(fields, "detail")
    if wrong:
        return "; ".join(text(each, "msg") or "" for each in wrong[:3])
    return text(fields, "error") or text(fields, "detail") or ""
