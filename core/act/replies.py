"""What an answer to a dry run or an order says, and whether it can be believed."""

from dataclasses import replace

from core.ctl.answer_errors import good_body
from core.ctl.decode import JsonObject
from core.ctl.features import Feature
from core.errors import RequestFailed
from core.ports import Reply

_FAILED = 500
_BUSY = 503


def body_of(reply: Reply, what: str, feature: Feature | None = None) -> bytes:
    """Return the body of a good answer; `good_body` says what else there is.

    Where a control server failed, its text is an exception's, which can quote a sample: it is
    not repeated. Neither is what is no JSON object: that is no word of Inspect's.

    Raises:
        RequestFailed, AnswerMalformed: As `good_body`.
    """
    status = reply.status
    if status is not None and status != _BUSY and reply.error is None:
        if status >= _FAILED:
            raise RequestFailed(f"{what}: its control server failed (HTTP {status})", status=status)
        if reply.body.lstrip()[:1] != b"{":
            reply = replace(reply, body=b"")
    return good_body(reply, what, feature)


def is_made(answer: JsonObject) -> bool:
    """Whether an answer that is not odd says that something changes."""
    return answer.get("changed") is True


def why_odd(answer: JsonObject, *, dry_run: bool, tells_changed: bool = True) -> str | None:
    """Return why an answer can't be believed; None: it can.

    Args:
        answer: To a mutation, or to its dry run.
        dry_run: Which of the two was asked for.
        tells_changed: Whether it has to tell whether anything changes; one of config does not.
    """
    changed: object = answer.get("changed") if tells_changed else True
    if not isinstance(changed, bool):
        return "its answer does not tell whether anything changed"
    said: object = answer.get("dry_run")
    if changed and dry_run and said is not True:
        return (
            "its answer to a dry run does not say that it was one:"
            " it may have acted. Look before anything else"
        )
    if changed and not dry_run and said is True:
        return "it answered as if it had only been asked what it would do"
    return None
