"""`evalroom journal`, from a real database."""

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from cli.commands.journal import order_lines
from cli.main import main
from cli.parser.moments import moment
from core.events import ContentRevealed
from core.ids import MachineName, ModelKey, ProcessKey, SampleKey
from core.model.action import Action, Change, Verb
from core.model.order import Order, OrderState, Outcome
from storage.database import Database
from storage.identity import operator_name
from storage.journal import Journal
from storage.orders import OrderJournal
from storage.schema import migrations
from tests.support.clocks import RealClock
from tests.support.commands import Home
from tests.support.coroutines import run_async
from tests.support.hostile_fleets import HOSTILE
from tests.support.orders import PAUSED, order

DONE = Outcome(state=OrderState.DONE, message="3 samples finish")


def database(home: Home) -> Path:
    return home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"


def keep(home: Home, orders: Sequence[Order], ended: Sequence[str] = ()) -> None:
    async def written() -> None:
        async with Database.at(database(home)) as kept:
            journal = OrderJournal(kept)
            await journal.intend(orders)
            for each in ended:
                await journal.end(each, DONE, time.time())

    run_async(written())


def given() -> list[Order]:
    now = time.time()
    away = ModelKey(ProcessKey(MachineName("h100-2"), 7, "s"), "openai/gpt-5")
    knob = Action(verb=Verb.CONFIG, changes=(Change("max_samples", 4),))
    return [
        order("a", at=now - 90_000, reason="rate limits"),
        order("b", at=now - 60, target=SampleKey(PAUSED, "1", 2), action=Action(verb=Verb.REQUEUE)),
        order("c", at=now - 30, target=away, undo=Action(verb=Verb.RESUME)),
        order("d", at=now - 10, action=knob, is_ours=True),
    ]


def ids(capsys: pytest.CaptureFixture[str]) -> str:
    printed = json.loads(capsys.readouterr().out)
    assert time.time() - 60 < printed["as_of"] <= time.time()
    return "".join(each["id"] for each in printed["orders"])


def test_without_a_history_no_file_is_made(here: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal"]) == 0
    assert capsys.readouterr().out == "no orders yet\n"
    assert main(["journal", "--json"]) == 0
    assert ids(capsys) == ""
    assert not database(here).exists()


def test_a_history_of_before_orders_has_none_and_is_left_as_it_is(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    database(here).parent.mkdir(parents=True)
    with closing(sqlite3.connect(database(here))) as raw:
        raw.executescript(dict(migrations())[1])
        raw.execute("PRAGMA application_id = 1165382253")
        raw.execute("PRAGMA user_version = 1")
    before = database(here).read_bytes()
    assert main(["journal", "--json"]) == 0
    assert ids(capsys) == ""
    assert database(here).read_bytes() == before


def test_a_file_that_is_not_a_history_is_an_error_and_is_left_as_it_is(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    database(here).parent.mkdir(parents=True)
    database(here).write_bytes(b"garbage" * 2_000)
    assert main(["journal", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "storage_error"
    assert list(database(here).parent.iterdir()) == [database(here)]


def test_orders_are_found_by_each_option(here: Home, capsys: pytest.CaptureFixture[str]) -> None:
    keep(here, given(), ["a"])
    yesterday = datetime.fromtimestamp(time.time() - 86_400).astimezone().isoformat()
    for words, found in (
        ([], "dcba"),
        (["--limit", "2"], "dc"),
        (["--since", "2h"], "dcb"),
        (["--since", yesterday], "dcb"),
        (["--since", "2020-01-01"], "dcba"),
        (["--machine", "h100-2"], "c"),
        (["--machine", "nowhere"], ""),
        (["--action", "config"], "d"),
        (["--state", "done"], "a"),
        (["--state", "sending", "--action", "pause"], "c"),
        (["rate"], "a"),
        (["!rate"], "dcb"),
        (["/gpt.5/"], "c"),
    ):
        assert main(["journal", "--json", *words]) == 0
        assert ids(capsys) == found, words


def test_an_order_is_printed_with_all_its_details(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(here, given(), ["a"])
    assert main(["journal", "--json", "--since", "2h", "--action", "requeue"]) == 0
    [entry] = json.loads(capsys.readouterr().out)["orders"]
    assert (entry["sample_id"], entry["epoch"], entry["task_id"]) == ("1", 2, "t1")
    assert entry["from"] == {"host": "here", "pid": 1}
    assert main(["journal", "rate"]) == 0
    printed = capsys.readouterr().out
    for words in (
        "done: pause of h100-1 gdm_intercode_ctf",
        "Ada, from here pid 1",
        "pid 100 on h100-1, task t1, launched by someone else",
        "rate limits",
        "3 samples in flight finish; 4 queued wait",
        "POST /tasks/t1/pause",
        "inspect ctl task pause t1",
        "3 samples finish",
        "later",
    ):
        assert words in printed
    assert main(["journal", "--state", "failed"]) == 0
    assert capsys.readouterr().out == "no order matches\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--since", "soon"],
        ["--since", "2x"],
        ["--since", "99999999999h"],
        ["--limit", "0"],
        ["--limit", "2.5"],
        ["--action", "fly"],
        ["--state", "gone"],
        ["one", "two"],
    ],
)
def test_wrong_words_are_reported_and_exit_2(
    here: Home, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    del here
    assert main(["journal", "--json", *words]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "usage_wrong"


def test_moments_are_ago_or_of_the_calendar() -> None:
    assert [moment(f"2{unit}", 1_000_000.0) for unit in "smhdw"] == [
        1_000_000.0 - 2 * seconds for seconds in (1, 60, 3_600, 86_400, 604_800)
    ]
    assert moment("2026-11-29T08:30+00:00") == 1_795_941_000.0
    assert moment("2026-11-29") == datetime(2026, 11, 29).astimezone().timestamp()


def test_a_hostile_order_is_printed_harmless(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = replace(
        order("x", target=SampleKey(PAUSED, HOSTILE, 1)),
        name=HOSTILE, request=HOSTILE, command=HOSTILE, preview=HOSTILE, reason=HOSTILE,
        message=HOSTILE,
    )  # fmt: skip
    keep(here, [evil])
    assert all(line.isprintable() for line in order_lines(evil))
    assert main(["journal"]) == 0
    printed = capsys.readouterr().out
    assert all(char.isprintable() for char in printed.replace("\n", ""))
    assert main(["journal", "--json"]) == 0
    [entry] = json.loads(capsys.readouterr().out)["orders"]
    assert entry["sample_id"] == HOSTILE.replace("\ud800", "\ufffd")  # jq reads it too


def reveal(home: Home, *events: ContentRevealed) -> None:
    async def written() -> None:
        async with Database.at(database(home)) as kept:
            await Journal(kept, limit_mib=64, clock=RealClock()).keep(events)

    run_async(written())


def revealed(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str]]:
    assert main(["journal", "--revealed", "--json", *words]) == 0
    rows = json.loads(capsys.readouterr().out)["revealed"]
    return [(row["machine"], row["sample_id"]) for row in rows]


def test_who_revealed_the_text_of_which_sample_is_listed(
    here: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["journal", "--revealed"]) == 0
    assert capsys.readouterr().out == "nobody revealed any text\n"
    now = time.time()
    old, new = (
        ContentRevealed(
            at=now - ago, sample=SampleKey(PAUSED, name, 2), eval_id="e", operator=operator
        )
        for ago, name, operator in ((90_000.0, HOSTILE, "eve"), (60.0, "s1", ""))
    )
    reveal(here, old, new)
    keep(here, given())
    place = str(PAUSED.machine)
    assert revealed(capsys)[0] == (place, "s1")
    assert revealed(capsys, "--since", "2h") == [(place, "s1")]
    assert revealed(capsys, "--limit", "1") == [(place, "s1")]
    assert len(revealed(capsys, "--machine", place)) == 2
    assert revealed(capsys, "--machine", "other") == []
    assert main(["journal", "--revealed"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert f"{operator_name()} revealed sample s1/2 of task" in first
    assert "eve revealed sample" in second
    assert second.isprintable()
    assert main(["journal", "--revealed", "--action", "pause"]) == 2
    assert "--revealed takes no action" in capsys.readouterr().err


def test_it_is_read_while_an_evalroom_writes_and_makes_no_link(home: Home) -> None:
    keep(home, given(), ["a"])
    home.configure('[[machines]]\nname = "far"\nhost = "192.0.2.1"\n')
    with closing(sqlite3.connect(database(home), isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM orders")
        printed = home.run("journal", "--json").json
    assert [each["id"] for each in printed["orders"]] == ["d", "c", "b", "a"]
