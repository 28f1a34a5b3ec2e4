"""Checks the answers to dry runs and orders: are they complete and consistent?"""

from dataclasses import replace

from core.ctl.answer_errors import good_body
from core.ctl.decode import JsonObject
from core.errors import RequestFailed
from core.model.feature import Feature
from core.ports import Reply

_FAILED = 500
_BUSY = 503


def body_of(reply: Reply, what: str, feature: Feature | None = None) -> bytes:
    """Return the body of a good answer, as `good_body` does.

    The error text of a failed control server is left out: it is the text of an exception, which
    can quote a sample. A body that is not a JSON object is left out too: Inspect did not write it.

    Raises:
        RequestFailed, AnswerMalformed: As `good_body`.
    """
    status = reply.status
    if status is not None and status != _BUSY and reply.error is None:
        if status >= _FAILED:
            raise RequestFailed(f"{what}: the control server failed (HTTP {status})", status=status)
        if reply.body.lstrip()[:1] != b"{":
            reply = replace(reply, body=b"")
    return good_body(reply, what, feature)


def is_changed(answer: JsonObject) -> bool:
    """Return whether an answer that `why_untrusted` found good says that something changes."""
    return answer.get("changed") is True


def why_untrusted(answer: JsonObject, *, dry_run: bool, tells_changed: bool = True) -> str | None:
    """Return why an answer can't be trusted; None: it can.

    Args:
        answer: To a mutation, or to its dry run.
        dry_run: Which of the two was sent.
        tells_changed: Whether the answer must say whether anything changes; an answer to a
            config change need not.
    """
    changed: object = answer.get("changed") if tells_changed else True
    if not isinstance(changed, bool):
        return "The eval's answer does not say whether anything changed. Check its state."
    is_dry_run: object = answer.get("dry_run")
    if changed and dry_run and is_dry_run is not True:
        return (
            "The eval did not confirm that this was a dry run; the action may have been applied."
            " Check its state first."
        )
    if changed and not dry_run and is_dry_run is True:
        return "The eval answered as if this was a dry run. Check its state."
    return None
