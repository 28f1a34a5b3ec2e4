"""Several evalrooms on one history tell an address of a finding once."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from core.config.notify import NotifyRule
from core.errors import NotSent
from core.fleet import Fleet
from core.judge.finding_list import with_findings
from core.model.finding import Finding, occurrence_id
from core.notify.claims import LEASE_S
from core.notify.message import Message
from core.notify.notifier import Notifier
from core.notify.outbox import GATHER_S
from storage.database import Database
from storage.finding_rows import TOLD_KEPT_S
from storage.journal import Journal
from storage.told import ToldRecord
from tests.support.clocks import SetClock
from tests.support.fleets import H1, NOW, running_fleet

RULE = NotifyRule(secret="PHONE", every=60)


def alarm(name: str = "a", **more: object) -> Finding:
    found = Finding(
        id=name, kind="stall", severity="alarm", opened_at=NOW, machine=H1, text="hangs"
    )
    return replace(found, **more)  # type: ignore[arg-type]


class Phone:
    """Takes messages, unless it is off."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.is_off = False

    async def send(self, secret: str, message: Message) -> None:
        assert secret == "PHONE"
        await asyncio.sleep(0)
        if self.is_off:
            raise NotSent("the phone is off")
        self.titles.append(message.title)


class OneRoom:
    """A room that notifies: its fleet and its time are set by the test."""

    def __init__(
        self, database: Database | None, phone: Phone, fleet: Fleet, rules: Sequence[NotifyRule]
    ) -> None:
        self.fleet, self.now = fleet, NOW
        self.notifier = Notifier(
            rules, fleet=lambda: self.fleet, now=lambda: self.now, sender=phone,
            report=lambda _: None, claims=None if database is None else ToldRecord(database),
        )  # fmt: skip

    async def see(self, *findings: Finding) -> None:
        self.fleet = with_findings(self.fleet, findings)
        await self.notifier.send_due()

    async def at(self, seconds: float) -> None:
        self.now = NOW + seconds
        await self.notifier.send_due()


@asynccontextmanager
async def rooms(
    path: Path,
    phone: Phone,
    *before: Finding,
    number: int = 2,
    rules: Sequence[NotifyRule] = (RULE,),
) -> AsyncGenerator[list[OneRoom]]:
    fleet = with_findings(running_fleet(), before)
    databases = [Database(path / "h.sqlite3") for _ in range(number)]
    try:
        made = list[OneRoom]()
        for each in databases:
            await each.open()
            made.append(OneRoom(each, phone, fleet, rules))
            await made[-1].notifier.begin()
        yield made
    finally:
        for each in databases:
            await each.close()


async def test_two_rooms_that_see_one_alarm_send_one_message(tmp_path: Path) -> None:
    phone = Phone()
    async with rooms(tmp_path, phone) as (one, two):
        for room in (one, two):
            await room.see(alarm())
        await asyncio.gather(one.at(GATHER_S), two.at(GATHER_S))
        for seconds in (70, 140, 400):
            await asyncio.gather(one.at(seconds), two.at(seconds))
    assert phone.titles == ["evalroom: alarm stall on h100-1"]


async def test_what_worsens_is_told_once_more_by_one_of_them(tmp_path: Path) -> None:
    phone, rule = Phone(), replace(RULE, severity="suspect")
    async with rooms(tmp_path, phone, rules=[rule]) as (one, two):
        for room in (one, two):
            await room.see(alarm(severity="suspect"))
        await asyncio.gather(one.at(GATHER_S), two.at(GATHER_S))
        for room in (one, two):
            await room.see(alarm())
        for seconds in (80, 95, 200):
            await asyncio.gather(one.at(seconds), two.at(seconds))
    assert phone.titles == [f"evalroom: {word} stall on h100-1" for word in ("suspect", "alarm")]


async def test_the_other_room_sends_it_if_the_first_one_can_not(tmp_path: Path) -> None:
    phone = Phone()
    async with rooms(tmp_path, phone) as (one, two):
        for room in (one, two):
            await room.see(alarm())
        phone.is_off = True
        await one.at(GATHER_S)
        phone.is_off = False
        await two.at(GATHER_S + 1)
        await one.at(90)
    assert len(phone.titles) == 1


async def test_what_a_room_claimed_and_never_sent_is_sent_by_another_after_a_minute(
    tmp_path: Path,
) -> None:
    phone = Phone()
    async with rooms(tmp_path, phone) as (one, two):
        async with Database.at(tmp_path / "h.sqlite3") as database:
            claims = ToldRecord(database)
            claim = await claims.claim("PHONE", [alarm()], now=NOW, every=0)
        assert claim.mine == {"a"}
        await two.see(alarm())
        await two.at(GATHER_S)
        assert phone.titles == []
        await two.at(LEASE_S + GATHER_S)
        await one.see(alarm())
        await one.at(LEASE_S + 3 * GATHER_S)
    assert len(phone.titles) == 1


async def test_a_restart_tells_nothing_again_but_what_waited(tmp_path: Path) -> None:
    phone = Phone()
    async with rooms(tmp_path, phone, number=1) as [room]:
        await room.see(alarm())
        await room.at(GATHER_S)
        await room.see(alarm("late"))  # it waits for the time between two messages
        await room.at(GATHER_S + 20)
    assert len(phone.titles) == 1
    done = alarm("done", kind="finished", closed_at=NOW)
    async with rooms(tmp_path, phone, alarm(), alarm("late"), done, number=1) as [room]:
        for seconds in (100, 120, 400):
            await room.at(seconds)
    assert len(phone.titles) == 2
    assert "stall" in phone.titles[1]


async def test_an_address_that_never_heard_anything_is_not_told_of_old_findings(
    tmp_path: Path,
) -> None:
    phone = Phone()
    async with rooms(tmp_path, phone, alarm()) as (one, two):
        for seconds in (20, 100, 400):
            await asyncio.gather(one.at(seconds), two.at(seconds))
        assert phone.titles == []
        await two.see(alarm("new"))
        await two.at(411)
    assert len(phone.titles) == 1


async def test_what_opened_after_a_first_room_that_had_nothing_to_tell_is_told(
    tmp_path: Path,
) -> None:
    phone = Phone()
    async with rooms(tmp_path, phone, number=1) as [room]:
        await room.at(GATHER_S)  # it ends before the alarm is told
    async with rooms(tmp_path, phone, alarm(), number=1) as [room]:
        for seconds in (100, 120):
            await room.at(seconds)
    assert len(phone.titles) == 1


async def test_two_rules_for_one_address_send_a_finding_once(tmp_path: Path) -> None:
    phone, rules = Phone(), (RULE, replace(RULE, kinds=("stall",)))
    async with rooms(tmp_path, phone, number=1, rules=rules) as [room]:
        await room.see(alarm())
        for seconds in (GATHER_S, 100, 300):
            await room.at(seconds)
    assert len(phone.titles) == 1


async def test_without_a_record_each_room_sends_what_opens(tmp_path: Path) -> None:
    del tmp_path
    phone = Phone()
    room = OneRoom(None, phone, with_findings(running_fleet(), [alarm()]), [RULE])
    await room.notifier.begin()
    await room.see(alarm("new"))
    await room.at(GATHER_S)
    assert len(phone.titles) == 1


async def test_a_finding_that_gets_the_id_of_another_room_was_told_already(tmp_path: Path) -> None:
    own, theirs = (alarm(occurrence_id("stall:x", NOW + each)) for each in (1, 0))
    async with Database.at(tmp_path / "h.sqlite3") as database:
        journal, claims = Journal(database, limit_mib=64, clock=SetClock()), ToldRecord(database)
        claim = await claims.claim("PHONE", [own], now=NOW, every=0)
        await claims.note_sent("PHONE", claim.mine, NOW)
        await journal.keep_findings([theirs])
        [same] = await journal.keep_findings([own])
        assert same.id == theirs.id
        again = await claims.claim("PHONE", [theirs], now=NOW + 100, every=0)
    assert (again.mine, again.told) == (frozenset[str](), frozenset({theirs.id}))


async def test_a_room_that_stays_open_forgets_what_it_told_long_ago(tmp_path: Path) -> None:
    async with Database.at(tmp_path / "h.sqlite3") as database:
        journal, record = Journal(database, limit_mib=64, clock=SetClock(NOW)), ToldRecord(database)
        await record.note_known("PHONE", [alarm()], NOW)
        await journal.tidy(NOW + TOLD_KEPT_S - 1)
        assert (await record.claim("PHONE", [alarm()], now=NOW, every=60)).told == {"a"}
        await journal.tidy(NOW + TOLD_KEPT_S + 1)
        assert (await record.claim("PHONE", [alarm()], now=NOW, every=60)).mine == {"a"}
