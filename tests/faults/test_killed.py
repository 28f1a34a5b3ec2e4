"""evalroom killed while an order is out: the next one says so, and finds out what became of it."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core.model.finding import Finding
from core.model.order import Order, OrderState
from storage.database import Database
from storage.identity import this_instance
from storage.orders import OrderJournal
from tests.support.acting import acting_on
from tests.support.commands import Home
from tests.support.desk_on_evals import this_computer
from tests.support.evals import Eval, running_evals
from tests.support.waiting import until, wait_until

pytestmark = pytest.mark.xdist_group("killed")


@pytest.fixture(scope="module")
def one() -> Iterator[Eval]:
    """A process that goes on until it is ended."""
    with running_evals() as evals:
        started = evals.start(
            "turns", args={"samples": 50, "turns": 400, "sleep": 1.0}, options=("--max-samples=2",)
        ).wait_ready()
        started.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] > 1)
        yield started


def orders_in(path: Path) -> list[tuple[str, str]]:
    """The ids and states of all orders in a database, newest first."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT id, state FROM orders ORDER BY rowid DESC").fetchall()
    except sqlite3.OperationalError:  # it is just being made
        return []


@pytest.mark.parametrize("moment", ["sending", "sent", "answered"])
async def test_a_killed_evalrooms_order_is_reported_and_resolved_once(
    tmp_path: Path, one: Eval, moment: str
) -> None:
    """Killed as its intent is on disk; while the eval has the order; with the answer in hand."""
    home = Home(tmp_path)
    home.watch_here(one.data_dir, "local")
    before = one.task()["paused"]
    child = home.start("act", "resume" if before else "pause", "turns", "--yes")
    await asyncio.to_thread(kill_at, moment, child, home, one)
    database = tmp_path / ".local/share/evalroom/history.sqlite3"
    [(order, state)] = orders_in(database)
    kept = await resolved(database, one, order) if state == "sending" else None
    applied = one.task()["paused"] != before
    if kept is not None:
        assert kept.state is (OrderState.DONE if applied else OrderState.FAILED)
    [(_, state)] = orders_in(database)
    assert state == ("done" if applied else "failed")


def kill_at(moment: str, child: subprocess.Popen[bytes], home: Home, one: Eval) -> None:
    """Kill evalroom at a moment of its order."""
    database = home.folder / ".local/share/evalroom/history.sqlite3"
    wait_until(lambda: orders_in(database), "the order is on disk", every=0.001)
    if moment == "sent":
        os.kill(one.pid, signal.SIGSTOP)
        time.sleep(0.2)  # it may have sent its order by then; either is a moment of its own
    if moment == "answered":
        time.sleep(0.01)  # likewise
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    os.kill(one.pid, signal.SIGCONT)
    one.task()  # what came before this request was read before it


async def resolved(path: Path, one: Eval, order: str) -> Order:
    """Start the next evalroom on that journal; return the order once it is settled there."""
    database = Database(path)
    await database.open()
    journal = OrderJournal(database)
    machine = this_computer(one.data_dir)
    async with acting_on(
        [machine],
        one.folder / "known",
        journal=journal,
        instance=this_instance(),
    ) as acted:
        watched = acted.watched

        def settled() -> Order | None:
            found = [each for each in watched.fleet.orders if each.id == order and not each.is_open]
            return next(iter(found), None)

        def order_finding() -> Finding | None:
            return next((each for each in watched.fleet.findings if each.kind == "order"), None)

        found = await until(settled, "settled")
        finding = await until(order_finding, "the finding")
        assert finding.closed_at is not None
        assert not acted.sent
        assert not await acted.acting.take_up()
    await database.close()
    return found
