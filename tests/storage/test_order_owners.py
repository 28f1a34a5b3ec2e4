"""Orders of an evalroom that died are taken up once, by one of those that live."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.order import Instance, OrderState, Outcome
from storage.database import Database
from storage.identity import this_instance
from storage.orders import OrderJournal
from tests.support.orders import HERE, order
from tests.support.tree import ROOT

DONE = Outcome(state=OrderState.DONE, message="done")
DEAD = replace(HERE, pid=2, start="2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history.sqlite3"


def book(database: Database, *alive: Instance) -> OrderJournal:
    return OrderJournal(database, alive=lambda instance, _: instance in alive)


async def test_open_orders_of_a_dead_evalroom_are_taken_up_once(path: Path) -> None:
    living = replace(HERE, pid=3, start="3")
    away = replace(HERE, host="elsewhere")
    answers = {HERE: True, living: True, DEAD: False, away: None}
    async with Database.at(path) as database:
        journal = OrderJournal(database, alive=lambda instance, _: answers[instance])
        await journal.intend(
            [
                order("older", at=1, instance=DEAD),
                order("newer", at=2, instance=DEAD),
                order("known", instance=DEAD),
                order("living", instance=living),
                order("away", instance=away),
                order("mine", at=3, instance=HERE),
            ]
        )
        await journal.end("known", DONE, 2.0)
        await journal.end("older", Outcome(state=OrderState.UNKNOWN, message="?"), 2.0)
        assert [each.id for each in await journal.take_up(HERE)] == ["older", "newer"]
        assert not await journal.take_up(HERE)
        assert not await journal.take_up(living)
        answers[HERE] = False  # the one that claimed them dies too
        taken = await journal.take_up(living)
        assert [each.id for each in taken] == ["older", "newer", "mine"]


async def test_of_two_that_start_together_each_order_goes_to_one(path: Path) -> None:
    heirs = [replace(HERE, pid=number, start=str(number)) for number in range(10, 16)]
    async with Database.at(path) as database:
        await book(database).intend([order(str(n), instance=DEAD) for n in range(50)])

    async def start(heir: Instance) -> list[str]:
        async with Database.at(path) as database:
            return [each.id for each in await book(database, *heirs).take_up(heir)]

    taken = await asyncio.gather(*map(start, heirs))
    assert sorted(each for ids in taken for each in ids) == sorted(map(str, range(50)))


CHILD = """
import asyncio, sys
from pathlib import Path
from dataclasses import replace
from storage.database import Database
from storage.identity import this_instance
from storage.orders import OrderJournal
from tests.support.orders import order

async def main():
    async with Database.at(Path(sys.argv[1])) as database:
        journal, here = OrderJournal(database), this_instance()
        if sys.argv[2] == "intend":
            await journal.intend([order(sys.argv[3], instance=here)])
            print("written", flush=True)
            await asyncio.sleep(60)
        print("ready", flush=True)
        sys.stdin.readline()
        print(*[each.id for each in await journal.take_up(here)], flush=True)
        sys.stdin.readline()
asyncio.run(main())
"""


def child(path: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def printed_by(process: subprocess.Popen[str]) -> Sequence[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


async def test_an_evalroom_killed_before_it_knew_leaves_what_one_of_the_next_takes_up(
    path: Path,
) -> None:
    with child(path, "intend", "a") as killed, child(path, "intend", "b") as lives:
        assert printed_by(killed) == printed_by(lives) == ["written"]
        killed.kill()
        killed.wait()
        with child(path, "start") as one, child(path, "start") as two:
            assert printed_by(one) == printed_by(two) == ["ready"]
            let_go(one)
            let_go(two)
            taken = [*printed_by(one), *printed_by(two)]
            async with Database.at(path) as database:
                kept = {each.id: each for each in await OrderJournal(database).recent(5)}
                assert not await OrderJournal(database).take_up(this_instance())
            let_go(one)
            let_go(two)
        lives.kill()
    assert taken == ["a"]
    assert kept["a"].state is kept["b"].state is OrderState.SENDING


async def test_an_order_of_a_later_evalroom_is_left_out_and_never_claimed(path: Path) -> None:
    async with Database.at(path) as database:
        await book(database).intend([order("a", instance=DEAD), order("b", instance=DEAD)])
        await database.write(
            lambda c: c.execute("""UPDATE orders SET action = '{"verb": "fly"}' WHERE id = 'a'""")
        )
        assert [each.id for each in await book(database).recent(5)] == ["b"]
        assert [each.id for each in await book(database).take_up(HERE)] == ["b"]
        claims = await database.read("SELECT id FROM orders WHERE claimed_by IS NOT NULL")
    assert [row["id"] for row in claims] == ["b"]
