"""A history that another program of the account, or a wrong disk, wrote into.

`honest_history` makes one with a row in every table; `spoil` adds, to each of its tables, copies of
that row in which one column holds what evalroom never writes.
"""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from core.events import ContentRevealed
from core.finding_events import FindingsMuted
from core.guide.guide import Guide, GuideKind, GuideStep, StepKind
from core.ids import SampleKey, address_of
from core.model.finding import Finding
from core.model.mute import Mute
from core.model.order import Instance
from core.model.run import Run, RunState
from core.model.task import ProgressPoint
from storage.database import Database
from storage.guides import Guides
from storage.journal import Journal
from storage.orders import OrderJournal
from storage.runs import SqliteRunStore
from tests.support.clocks import SetClock
from tests.support.fleets import (
    H1,
    NOW,
    named,
    process_key,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.orders import HERE, order

DEAD = replace(HERE, pid=2, start="2")
"""The instance that wrote the history; it no longer runs."""
FINDING = Finding(
    id="f", kind="stall", severity="alarm", opened_at=NOW, machine=H1, text="hangs", is_kept=True,
    acknowledged_at=NOW + 1, task=task_key(),
)  # fmt: skip
GUIDE = Guide(
    id="g", kind=GuideKind.INTERRUPT, name="h1:4", targets=(address_of(process_key()),),
    steps=(GuideStep(kind=StepKind.PAUSE, title="pause"),), made_at=NOW, instance=DEAD,
)  # fmt: skip
RUN = Run(id="r", machine=H1, at=NOW, operator="Ada", state=RunState.QUEUED, task="t", model="m")

TEXTS = (
    "", "x", "{", "null", "[]", "{}", "0", '"x"', "[" * 5_000, '{"a":' * 400 + "1" + "}" * 400,
    "9" * 5_000, '{"at": 1e999}', '{"v": 1}', "\x1b[2J\u202e", "\x00",
)  # fmt: skip
"""Texts that no column of evalroom holds, or not that column."""
VALUES = ("CAST(x'ff00' AS TEXT)", "9223372036854775807", "-1", "1e999", "-1e999", "NULL")
"""The same, as SQL."""
JSON_CHANGES = (
    "json_remove(body, '$.' || (SELECT key FROM json_each(body) LIMIT 1))",
    "json_set(body, '$.at', 1e300)",
    "json_set(body, '$.targets', json('[]'))",
    "json_set(body, '$.mute.until', 1e300)",
    "replace(body, '4', '999999999999999999999999999999999999999999999999')",
)
"""Bodies that are JSON, but not those of evalroom, as SQL."""


async def honest_history(path: Path) -> None:
    """Write a history of an instance that has ended, with a row in every table."""
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock(NOW))
        reveal = ContentRevealed(at=NOW, sample=SampleKey(task_key(), 1, 1), eval_id="e")
        await journal.keep([named(), process_seen(), tasks_seen(task_row()), reveal])
        await journal.keep_findings([FINDING])
        mute = Mute(until=NOW + 100, kind="stall")
        await journal.keep([FindingsMuted(id="m", at=NOW, mute=mute)])
        point = ProgressPoint(at=NOW, done=1, errored=0, in_flight=1, tokens=1)
        await journal.keep_progress([(task_key(), point)])
        await OrderJournal(database).intend([replace(order("o"), instance=DEAD)])
        await Guides(database).save(GUIDE)
        await SqliteRunStore(database).add([RUN], DEAD)


def is_dead(instance: Instance, here: Instance) -> bool:
    """Tell the stores that whoever wrote the history no longer runs."""
    del here
    return instance.pid != DEAD.pid


def spoil(path: Path) -> int:
    """Add hostile rows to all tables of a history; return how many SQLite took."""
    taken = 0
    with closing(sqlite3.connect(path)) as database, database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith("sqlite_")
        ]
        for table in tables:
            columns = {row[1]: row[2] for row in database.execute(f"PRAGMA table_info({table})")}
            for column in columns:
                changes = [(value, ()) for value in VALUES] + [("?", (text,)) for text in TEXTS]
                if column == "body":
                    changes += [(value, ()) for value in JSON_CHANGES]
                for value, given in changes:
                    taken += _add_copy(database, table, columns, (column, value, given), taken)
    return taken


def _add_copy(
    database: sqlite3.Connection,
    table: str,
    columns: dict[str, str],
    change: tuple[str, str, tuple[str, ...]],
    number: int,
) -> bool:
    """Copy a table's first row with another value in one column, and an id of its own."""
    column, value, given = change
    own = {"id": f"'{number}'" if columns.get("id") == "TEXT" else "NULL", "number": "NULL"}
    if table in {"task", "progress"}:
        own |= {"pid": str(1_000 + number), "at": f"at + {number + 1}"}
    chosen = [value if each == column else own.get(each, each) for each in columns]
    sql = f"INSERT INTO {table} SELECT {', '.join(chosen)} FROM {table} ORDER BY rowid LIMIT 1"
    if table == "progress":
        sql = sql.replace("ORDER BY rowid", "ORDER BY at")
    try:
        database.execute(sql, given)
    except sqlite3.Error:
        return False
    return True
