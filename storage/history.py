"""What was kept, read back."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.event_codec import event_of
from core.events import Event
from core.ids import MachineName, TaskKey
from core.model.task import ProgressPoint
from storage.database import Database
from storage.event_columns import column_text, task_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One event of the journal.

    Attributes:
        number: Its place in the journal; a later one is larger.
        desk: Which running evalroom wrote it.
    """

    number: int
    desk: str
    event: Event


async def progress_of(database: Database, task: TaskKey) -> tuple[ProgressPoint, ...]:
    """Return a task's kept points, oldest first.

    Raises:
        StorageError: They can't be read.
    """
    rows = await database.read(
        "SELECT at, done, errored, in_flight, tokens FROM progress"
        " WHERE task = (SELECT id FROM task"
        "  WHERE machine = ? AND pid = ? AND start = ? AND task_id = ?) ORDER BY at",
        task_columns(task),
    )
    return tuple(
        ProgressPoint(
            at=row["at"],
            done=row["done"],
            errored=row["errored"],
            in_flight=row["in_flight"],
            tokens=row["tokens"],
        )
        for row in rows
    )


async def events_kept(
    database: Database,
    *,
    machine: MachineName | None = None,
    task_id: str | None = None,
    before: int | None = None,
    limit: int = 500,
) -> Sequence[Kept]:
    """Return kept events, newest first.

    Args:
        database: Where they are.
        machine: Only what is about this one; None: all.
        task_id: Only what is about this task; None: all.
        before: Only those with a smaller number, to page back.
        limit: How many at most. Those of a kind that is unknown by now are left out.

    Raises:
        StorageError: They can't be read.
    """
    rows = await database.read(
        "SELECT id, desk, body FROM event"
        " WHERE (? IS NULL OR machine = ?) AND (? IS NULL OR task_id = ?) AND (? IS NULL OR id < ?)"
        " ORDER BY id DESC LIMIT ?",
        (
            machine,
            machine,
            *(2 * (None if task_id is None else column_text(task_id),)),
            before,
            before,
            limit,
        ),
    )
    kept: list[Kept] = []
    for row in rows:
        try:
            event = event_of(row["body"])
        except ValueError:
            continue
        kept.append(Kept(number=row["id"], desk=row["desk"], event=event))
    return kept
