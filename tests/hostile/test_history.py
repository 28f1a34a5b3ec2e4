"""What another program wrote into the history spoils its own rows only, in every room."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.act.order_query import OrderQuery
from core.desk.acknowledgements import newest_of_each
from core.desk.past import Past, past_events, with_past
from core.finding_events import FindingsMuted
from core.fold.mutes import change_mutes
from core.model.mute import MAX_MUTE_S, Mute
from core.model.run import RunState
from storage.database import Database
from storage.guides import Guides, read_guides
from storage.journal import Journal
from storage.orders import OrderJournal, read_orders
from storage.past import past_readonly
from storage.reveals import read_reveals
from storage.runs import SqliteRunStore
from tests.hostile.history import DEAD, FINDING, GUIDE, RUN, honest_history, is_dead, spoil
from tests.support.clocks import SetClock
from tests.support.fleets import H1, NOW, fleet_after, named, process_seen, task_key
from tests.support.orders import HERE

LATER = NOW + 60
LIMIT = 5_000


async def test_rows_that_evalroom_never_writes_hide_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    await honest_history(path)
    taken = spoil(path)
    assert taken > 500
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock(LATER))
        past = await journal.past(NOW - 10)
        fleet = with_past(fleet_after(named(at=LATER)), past)
        assert task_key() in fleet.tasks
        assert fleet.at == LATER
        assert FINDING in past.findings
        assert FINDING in (await journal.past(LATER)).findings  # open, however old
        assert [each for each in fleet.mutes if each.kind == "stall"]
        assert (await journal.mutes_after(0)).mutes
        ids = ["f", *map(str, range(taken))]
        assert "f" in {each.id for each in await journal.acknowledged(ids)}
        await journal.keep_findings([replace(FINDING, text="still hangs")])
        assert NOW in [each.at for each in await journal.progress(task_key())]
        orders = OrderJournal(database, alive=is_dead)
        assert "o" in {each.id for each in await orders.select(OrderQuery(limit=LIMIT))}
        assert "r" in await orders.run_ids()
        assert "o" in {each.id for each in await orders.take_up(HERE)}
        guides = Guides(database, alive=is_dead)
        for guide in await guides.recent(LIMIT):
            assert guide.process.machine == H1
        assert (await guides.claim("g", HERE)).instance == HERE
        runs = SqliteRunStore(database, alive=is_dead)
        assert RUN in await runs.recent(LIMIT)
        assert "r" in await runs.abandoned(HERE)
        await runs.save(replace(RUN, state=RunState.STARTING))
        await journal.tidy(LATER)
    assert FINDING.id in {each.id for each in past_readonly(path, NOW - 10).findings}
    assert "o" in {each.id for each in read_orders(path, OrderQuery(limit=LIMIT))}
    assert GUIDE.id in {each.id for each in read_guides(path, LIMIT)}
    assert read_reveals(path, since=0, machine=None, limit=LIMIT)


def test_a_clock_that_was_wrong_moves_no_room_into_the_future() -> None:
    fleet = fleet_after(named(at=LATER))
    for far in (LATER + 1, 1e300, float("inf"), float("nan")):
        past = Past(events=(process_seen(at=far),), mutes=(_mute(at=far),))
        assert [each.at for each in past_events(fleet, past)] == [LATER]
        assert with_past(fleet, past).at == LATER


def _mute(at: float, until: float = 1e300) -> FindingsMuted:
    return FindingsMuted(id="m", at=at, mute=Mute(until=until, kind="stall"))


@pytest.mark.parametrize("until", [1e300, float("inf"), float("nan")])
def test_no_mute_of_a_history_lasts_longer_than_one_that_evalroom_makes(until: float) -> None:
    fleet = change_mutes(fleet_after(named()), _mute(NOW, until))
    assert all(each.until <= NOW + MAX_MUTE_S for each in fleet.mutes)
    assert newest_of_each([_mute(NOW), _mute(NOW + 1)]) == [_mute(NOW + 1)]


async def test_an_instance_of_another_computer_is_never_taken_for_dead(tmp_path: Path) -> None:
    path = tmp_path / "data" / "history.sqlite3"
    await honest_history(path)
    async with Database.at(path) as database:
        assert await OrderJournal(database).take_up(replace(HERE, host="another")) == ()
        assert DEAD.host == HERE.host
