"""Decodes the operations of a `doing` frame."""

from core.ctl.decode import JsonObject, count, first_rows, number, parse_object, text
from core.errors import AnswerMalformed
from core.model.limits import MAX_PROCESS_OPERATIONS
from core.model.operation import Operation
from core.model.sample import SampleId

MAX_CHARACTERS = 200
"""Characters of an action and of its words; the rest is cut."""
MAX_ID_CHARACTERS = 500
"""Characters of the name of a task and of an id; the probe sends none that is longer."""


def operations(body: bytes) -> tuple[tuple[Operation, ...], int]:
    """Return the operations in the body of a `doing` frame, and how many more there are.

    They are `MAX_PROCESS_OPERATIONS` at most. A row that is malformed is not an operation; one
    that is too large counts as one more.

    Raises:
        AnswerMalformed: The body is not a list.
    """
    rows = first_rows(body, MAX_PROCESS_OPERATIONS)
    found = tuple(each for raw in rows.items if (each := _operation(raw)) is not None)
    return found, rows.left_out + rows.too_large


def _operation(raw: bytes) -> Operation | None:
    try:
        row = parse_object(raw)
    except AnswerMalformed:
        return None
    action, what, since = text(row, "action"), text(row, "what"), number(row, "since")
    if not action or not what or since is None:
        return None
    task = text(row, "task") or ""
    return Operation(
        action=action[:MAX_CHARACTERS],
        what=what[:MAX_CHARACTERS],
        words=(text(row, "words") or "")[:MAX_CHARACTERS],
        since=since,
        task=task if len(task) <= MAX_ID_CHARACTERS else "",
        sample=_sample(row),
        count=max(1, count(row, "count") or 1),
    )


def _sample(row: JsonObject) -> SampleId | None:
    sample_id, epoch = row.get("sample_id"), count(row, "epoch")
    if isinstance(sample_id, bool) or not isinstance(sample_id, str | int) or epoch is None:
        return None
    if isinstance(sample_id, str) and len(sample_id) > MAX_ID_CHARACTERS:
        return None
    return sample_id, epoch
