"""`evalroom findings`: what waits for the operator, and is acknowledged for good."""

import json
import re
import time
from dataclasses import replace

from core.ids import MachineName
from core.model.finding import Finding
from core.views.findings.names import short_id
from storage.database import Database
from storage.journal import Journal
from tests.support.clocks import SetClock
from tests.support.commands import Home
from tests.support.coroutines import run_async
from tests.support.fleets import process_seen, task_key, task_row, tasks_seen

M = MachineName("here")


def finding(name: str, *, is_kept: bool) -> Finding:
    """An open finding."""
    return Finding(
        id=name, kind="finished", severity="alarm", opened_at=time.time() - 10 * 86_400, machine=M,
        text=f"{name} ended with an error\x1b[31m", is_kept=is_kept,
    )  # fmt: skip


def short(name: str) -> str:
    """The id by which commands name a finding."""
    return short_id(finding(name, is_kept=True))


async def store(home: Home) -> None:
    """Store one finding that waits, and one that closes by itself."""
    path = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep_findings(
            [finding("one", is_kept=True), finding("two", is_kept=True),
             finding("link", is_kept=False)]
        )  # fmt: skip


def test_a_finding_that_waits_is_listed_however_old_until_it_is_acknowledged(home: Home) -> None:
    home.watch_here(home.folder / "d")
    assert home.run("findings").out == "no findings are open\n"
    run_async(store(home))
    rows = home.run("findings", "--json").json["findings"]
    assert {row["id"] for row in rows} == {short("one"), short("two")}
    assert "\x1b" not in home.run("findings").out
    assert home.run("findings", "ack").status == 2
    assert home.run("findings", "ack", "zzzz").status == 2
    ran = home.run("findings", "ack", short("one")[:6])
    assert (ran.status, ran.out) == (0, "1 finding acknowledged\n")
    [left] = home.run("findings", "--json").json["findings"]
    assert left["id"] == short("two")
    assert home.run("findings", "ack", "--all").status == 0
    assert home.run("findings").out == "no findings are open\n"
    listed = json.loads(home.run("findings", "--closed", "--json").out)["findings"]
    assert all(row["acknowledged"] and row["closed_at"] for row in listed)


def test_findings_of_a_machine_that_left_the_config_are_left_out_and_counted(home: Home) -> None:
    home.watch_here(home.folder / "d")
    path = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"

    async def keep() -> None:
        away = replace(finding("away", is_kept=True), machine=MachineName("sold"))
        async with Database.at(path) as database:
            journal = Journal(database, limit_mib=64, clock=SetClock())
            await journal.keep_findings([away, finding("one", is_kept=True)])

    run_async(keep())
    ran = home.run("findings", "--json")
    assert [row["id"] for row in ran.json["findings"]] == [short("one")]
    assert "1 finding is left out: the config no longer names" in ran.err


async def store_of_tasks(home: Home) -> None:
    """Store that two tasks of a process ended with an error."""
    path = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"
    now = time.time()
    tasks = [task_key(each, machine=M) for each in ("t1", "t2")]
    rows = [task_row(task_id=each.task_id, task=f"task {each.task_id}") for each in tasks]
    async with Database.at(path) as database:
        journal = Journal(database, limit_mib=64, clock=SetClock())
        await journal.keep([process_seen(M, at=now), tasks_seen(*rows, machine=M, at=now)])
        ended = [finding(each.task_id, is_kept=True) for each in tasks]
        await journal.keep_findings(
            [replace(each, task=task) for each, task in zip(ended, tasks, strict=True)]
        )


def test_a_finding_names_its_task_so_that_it_can_be_typed(home: Home) -> None:
    home.watch_here(home.folder / "d")
    run_async(store_of_tasks(home))
    printed = home.run("findings").out
    for name in ("t1", "t2"):
        assert re.search(rf"here:\S*{name} \(task {name}\)", printed), printed


def test_an_id_that_is_wrong_closed_or_old_is_named_with_what_to_do(home: Home) -> None:
    home.watch_here(home.folder / "d")
    path = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"
    now = time.time()
    link = replace(finding("link", is_kept=False), opened_at=now - 60)
    over = replace(link, id="over", closed_at=now - 30)
    old = replace(link, id="old", opened_at=now - 9 * 86_400, closed_at=now - 8 * 86_400)

    async def keep() -> None:
        async with Database.at(path) as database:
            journal = Journal(database, limit_mib=64, clock=SetClock())
            await journal.keep_findings([link, over, old])

    run_async(keep())
    for verb in (("ack",), ("mute", "--for", "1h")):
        for name, words in (("over", "closed at"), ("old", "no finding of the last 7 days")):
            ran = home.run("findings", *verb, short(name))
            assert ran.status == 2, ran
            assert words in ran.err
            assert "evalroom findings" in ran.err
    assert home.run("findings", "ack", short("link")).out == "1 finding acknowledged\n"
    again = home.run("findings", "ack", short("link"))
    assert (again.status, again.out) == (0, "0 findings acknowledged\n")
    assert "was acknowledged at" in again.err
    both = home.run("findings", "mute", short("link"), "--end", "--for", "2h")
    assert both.status == 2
    assert "leave --for out" in both.err
