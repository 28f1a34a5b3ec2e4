"""Two rooms that write to one history store one finding once."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.finding_events import SameFinding
from core.model.finding import Finding, occurrence_id
from storage.database import Database
from storage.journal import Journal
from tests.support.clocks import SetClock
from tests.support.fleets import H1

NOW = 1_000_000.0


def full(at: float, **more: object) -> Finding:
    found = Finding(
        id=occurrence_id("pressure:h100-1:memory", at), kind="pressure", severity="suspect",
        opened_at=at, machine=H1, text="full",
    )  # fmt: skip
    return replace(found, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def two_rooms(path: Path) -> AsyncGenerator[tuple[Journal, Journal]]:
    async with Database.at(path / "h.sqlite3") as one, Database.at(path / "h.sqlite3") as two:
        clock = SetClock()
        yield Journal(one, limit_mib=64, clock=clock), Journal(two, limit_mib=64, clock=clock)


async def test_what_two_rooms_find_is_one_finding_under_the_id_of_the_first(
    tmp_path: Path,
) -> None:
    async with two_rooms(tmp_path) as (one, two):
        assert await one.keep_findings([full(NOW)]) == ()
        same = await two.keep_findings([full(NOW + 3)])
        assert same == (SameFinding(own=full(NOW + 3).id, id=full(NOW).id, opened_at=NOW),)
        assert [each.id for each in (await two.past(0)).findings] == [full(NOW).id]
        assert await one.keep_findings([full(NOW, text="fuller", changed_at=NOW + 5)]) == ()
        worse = full(NOW, severity="alarm", changed_at=NOW + 9)
        assert await two.keep_findings([worse]) == ()
        assert (await one.past(0)).findings == (worse,)


async def test_an_acknowledgement_of_one_room_holds_for_what_the_other_opens(
    tmp_path: Path,
) -> None:
    async with two_rooms(tmp_path) as (one, two):
        await one.keep_findings([full(NOW, acknowledged_at=NOW + 1)])
        await two.keep_findings([full(NOW + 3)])
        [kept] = (await one.past(0)).findings
        assert kept.acknowledged_at == NOW + 1
        assert [each.id for each in await two.acknowledged([kept.id])] == [kept.id]


async def test_what_was_closed_and_is_found_again_is_another_finding(tmp_path: Path) -> None:
    async with two_rooms(tmp_path) as (one, two):
        await one.keep_findings([full(NOW)])
        await one.keep_findings([full(NOW, closed_at=NOW + 10)])
        assert await two.keep_findings([full(NOW + 60)]) == ()
        assert [each.is_open for each in (await one.past(0)).findings] == [False, True]


async def test_what_closes_in_the_same_write_takes_in_nothing_new(tmp_path: Path) -> None:
    async with two_rooms(tmp_path) as (one, two):
        await one.keep_findings([full(NOW)])
        again = full(NOW + 9_000)
        assert await two.keep_findings([again, full(NOW, closed_at=NOW + 9_000)]) == ()
        found = (await one.past(0)).findings
    assert {each.id: each.is_open for each in found} == {full(NOW).id: False, again.id: True}


async def test_a_room_that_opens_again_what_the_other_closed_takes_over_its_newer_id(
    tmp_path: Path,
) -> None:
    async with two_rooms(tmp_path) as (one, two):
        await one.keep_findings([full(NOW)])
        await two.keep_findings([full(NOW, closed_at=NOW + 10)])
        await two.keep_findings([full(NOW + 60)])
        same = await one.keep_findings([full(NOW, text="fuller", changed_at=NOW + 70)])
        assert [each.id for each in same] == [full(NOW + 60).id]
        assert sum(each.is_open for each in (await one.past(0)).findings) == 1


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        pytest.param(full(NOW + 3, start=100.0), 1, id="one start"),
        pytest.param(full(NOW + 3, start=104.0), 1, id="dated by the trace"),
        pytest.param(full(NOW + 3, start=300.0), 2, id="the next call"),
        pytest.param(
            full(NOW + 3, id=occurrence_id("pressure:h100-1:memory:gpu", NOW + 3)), 2,
            id="a longer name",
        ),
        pytest.param(
            full(NOW + 3, id=occurrence_id("pressure:h100-11", NOW + 3)), 2, id="another machine"
        ),
    ],
)  # fmt: skip
async def test_only_what_began_together_is_the_same(
    other: Finding, expected: int, tmp_path: Path
) -> None:
    async with two_rooms(tmp_path) as (one, two):
        await one.keep_findings([full(NOW, start=100.0)])
        await two.keep_findings([other])
        assert len((await one.past(0)).findings) == expected
