"""Decodes the operations of a `doing` frame."""

from core.ctl.decode import JsonObject, count, number, objects, parse, text
from core.errors import AnswerMalformed
from core.model.operation import Operation
from core.model.sample import SampleId

MAX_OPERATIONS = 1_000
"""Maximum operations of a process that are kept."""


def operations(body: bytes) -> tuple[Operation, ...]:
    """Return the operations in the body of a `doing` frame; a malformed row is left out.

    Raises:
        AnswerMalformed: The body is not a list.
    """
    listed = parse(body)
    if not isinstance(listed, list):
        raise AnswerMalformed("the probe's list of operations is not a JSON list")
    rows = objects({"listed": listed}, "listed")[:MAX_OPERATIONS]
    return tuple(found for row in rows if (found := _operation(row)) is not None)


def _operation(row: JsonObject) -> Operation | None:
    action, what, since = text(row, "action"), text(row, "what"), number(row, "since")
    if not action or not what or since is None:
        return None
    return Operation(
        action=action,
        what=what,
        words=text(row, "words") or "",
        since=since,
        task=text(row, "task") or "",
        sample=_sample(row),
        count=max(1, count(row, "count") or 1),
    )


def _sample(row: JsonObject) -> SampleId | None:
    sample_id, epoch = row.get("sample_id"), count(row, "epoch")
    if isinstance(sample_id, bool) or not isinstance(sample_id, str | int) or epoch is None:
        return None
    return sample_id, epoch
