"""One poll of real evals, as a program sees it: Inspect's own rows with evalroom's fields."""

import json
import os
import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

from cli.event_loop import GRACE_S
from tests.support.commands import Home, machine
from tests.support.ctl import Ctl
from tests.support.evals import Eval, Evals
from tests.support.shared_evals import hostile_group, parked_group

OURS = {"machine", "age_seconds"}
CLOCKS = {"tokens_per_second", "total_time", "as_of"}


def still(row: dict[str, Any], *without: str) -> dict[str, Any]:
    """A row without the fields that change, and without the named ones."""
    return {key: value for key, value in row.items() if key not in {*CLOCKS, *OURS, *without}}


@parked_group
def test_status_gives_inspects_own_rows(home: Home, parked_eval: Eval, ctl: Ctl) -> None:
    home.watch_here(parked_eval.data_dir)
    ran = home.run("status", "--json")
    assert (ran.status, ran.err) == (0, "")
    answer = ran.json
    assert set(answer) == {"as_of", "machines", "processes", "tasks"}
    assert abs(answer["as_of"] - time.time()) < 60

    theirs = {row["task_id"]: row for row in ctl(parked_eval, "task", "list")["tasks"]}
    ours = {row["task_id"]: row for row in answer["tasks"] if row["pid"] == parked_eval.pid}
    assert ours.keys() == theirs.keys()
    for task_id, row in ours.items():
        assert still(row, "state", "scores", "log", "errors") == still(theirs[task_id])
        assert row["machine"] == "here"
        assert 0 <= row["age_seconds"] < 30

    [process] = [row for row in answer["processes"] if row["pid"] == parked_eval.pid]
    [their_process] = ctl(parked_eval, "process", "list")["processes"]
    assert {key: process[key] for key in their_process if key != "tasks"} == {
        key: value for key, value in their_process.items() if key != "tasks"
    }
    assert {each["task_id"] for each in process["tasks"]} == theirs.keys()
    assert process["state"] == "parked"

    [here] = answer["machines"]
    assert (here["name"], here["state"], here["reason"]) == ("here", "up", None)
    assert set(here) >= {"name", "state", "reason", "facts"}


@parked_group
def test_status_for_people_lines_up_and_says_the_same(home: Home, parked_eval: Eval) -> None:
    home.watch_here(parked_eval.data_dir)
    ran = home.run("status")
    assert (ran.status, ran.err) == (0, "")
    for row in parked_eval.tasks():
        assert row["task"] in ran.out
    assert "1 machine" in ran.out.splitlines()[0]
    assert "\x1b" not in ran.out


@parked_group
@pytest.mark.parametrize(
    "words", [(), ("--all",), ("--status", "error"), ("--all", "--status", "completed")]
)
def test_samples_are_inspects_own(
    home: Home, parked_eval: Eval, ctl: Ctl, words: tuple[str, ...]
) -> None:
    home.watch_here(parked_eval.data_dir)
    for name in ("many", "errors"):
        ran = home.run("samples", name, *words, "--json")
        assert ran.status == 0, ran.err
        theirs = ctl(parked_eval, "sample", "list", name, *words)
        ours = ran.json
        assert ours["counts"] == theirs["counts"]
        assert ours["truncated"] == theirs["truncated"]
        assert [still(row) for row in ours["samples"]] == [still(row) for row in theirs["samples"]]
        assert all(row["machine"] == "here" for row in ours["samples"])


@parked_group
def test_one_sample_is_inspects_own_in_every_part(home: Home, parked_eval: Eval, ctl: Ctl) -> None:
    home.watch_here(parked_eval.data_dir)
    target = f"here:{parked_eval.task('tools')['task_id'][:8]}"
    sample = parked_eval.samples("tools")[0]
    words = (target.partition(":")[2], str(sample["sample_id"]), str(sample["epoch"]))
    for part in ("show", "events", "messages", "store"):
        for content in ((), ("--content",)):
            flag = () if part == "show" else (f"--{part}",)
            ran = home.run("sample", target, *words[1:], *flag, *content, "--json")
            assert ran.status == 0, ran.err
            theirs = ctl(parked_eval, "sample", part, *words, *content, *_whole(part))
            ours = {key: value for key, value in ran.json.items() if key in theirs}
            assert _of(still(ours), part) == _of(still(theirs), part), (part, content)
    plain = home.run("sample", target, *words[1:], "--events")
    assert plain.out.startswith("time")


def _whole(part: str) -> tuple[str, ...]:
    return {"events": ("--tail", "1000"), "messages": ("--tail", "1000")}.get(part, ())


def _of(answer: dict[str, Any], part: str) -> dict[str, Any]:
    """An answer; a cursor says where a page ended, and pages differ."""
    return {key: value for key, value in answer.items() if part != "events" or key != "next"}


@parked_group
def test_a_target_that_fits_several_or_none_lists_them(home: Home, parked_eval: Eval) -> None:
    home.watch_here(parked_eval.data_dir)
    ran = home.run("samples", "t", "--json")
    assert ran.status == 2
    error = ran.json["error"]
    assert error["kind"] == "target_unclear"
    assert "(turns)" in error["message"]
    assert "(tools)" in error["message"]
    assert home.run("samples", "nothing-like-it").status == 2
    gone = home.run("sample", "tools", "no-such-sample", "--json")
    assert gone.status == 1
    assert gone.json["error"]["kind"] == "not_there"


@hostile_group
def test_hostile_text_of_an_eval_reaches_the_output_harmless(
    home: Home, hostile_eval: Eval
) -> None:
    home.watch_here(hostile_eval.data_dir)
    [row] = hostile_eval.tasks()
    target = f"here:{row['task_id']}"
    sample = hostile_eval.samples()[0]
    one = ("sample", target, str(sample["sample_id"]), str(sample["epoch"]))
    commands = [("status",), ("samples", target), ("watch", "--for", "3")]
    commands += [(*one, part, "--content") for part in ("--events", "--messages", "--store")]
    for command in commands:
        ran = home.run(*command)
        assert ran.status == 0, ran.err
        bad = {char for char in ran.out if char != "\n" and not char.isprintable()}
        assert not bad, (command, bad)
    as_json = home.run(*one, "--messages", "--content", "--json").out
    assert as_json.isascii()
    assert "\x1b" not in as_json
    with closing(sqlite3.connect(home.folder / ".local/share/evalroom/history.sqlite3")) as history:
        events = [json.loads(body) for (body,) in history.execute("SELECT body FROM event")]
    kept = [each for each in events if each["event"] == "ContentRevealed"]
    assert len(kept) == 4
    assert all(each["operator"] for each in kept)
    listed = home.run("journal", "--revealed", "--json").json["revealed"]
    assert [each["operator"] for each in listed] == [each["operator"] for each in kept[::-1]]
    printed = home.run("journal", "--revealed").out
    assert len(printed.splitlines()) == 4
    assert all(char == "\n" or char.isprintable() for char in printed)
    assert printed.count(f"of task {row['task_id']}, pid {hostile_eval.pid} on here") == 4


def test_a_machine_that_is_down_says_so_and_the_rest_is_shown(home: Home) -> None:
    home.configure(machine("here", home.folder / "d") + machine("broken", command=["false"]))
    ran = home.run("status", "--json", "--timeout", "20")
    assert ran.status == 0
    here, broken = ran.json["machines"]
    assert here["state"] == "up"
    assert broken["state"] != "up"
    assert broken["reason"]
    printed = home.run("status").out
    assert f"broken: {broken['reason'][:20]}" in printed


def test_a_target_that_may_be_on_a_machine_that_is_silent_is_exit_3_and_not_wrong_usage(
    home: Home,
) -> None:
    home.configure(machine("here", home.folder / "d") + machine("broken", command=["false"]))
    for words in (("samples", "broken:any"), ("act", "cancel", "any", "--yes")):
        ran = home.run(*words, "--json", "--timeout", "20")
        assert ran.status == 3, ran
        assert "broken did not answer in time" in ran.json["error"]["message"]
    ran = home.run("samples", "here:any", "--json", "--timeout", "20")
    assert ran.status == 2


def test_no_machine_that_answers_is_exit_3(home: Home) -> None:
    home.configure(machine("broken", command=["false"]))
    for words in (("status",), ("machines",)):
        ran = home.run(*words, "--json", "--timeout", "20")
        assert ran.status == 3
        [row] = ran.json["machines"]
        assert row["name"] == "broken"
        assert row["facts"] is None
        assert home.run(*words, "--timeout", "20").status == 3
    ran = home.run("samples", "any", "--json", "--timeout", "20")
    assert ran.status == 3
    assert ran.json["error"]["kind"] == "no_machine_reached"


def test_machines_list_their_tools(home: Home) -> None:
    home.watch_here(home.folder / "d")
    [row] = home.run("machines", "--json").json["machines"]
    assert row["probe"]["pid"] > 0
    assert row["facts"]["cpus"] == os.cpu_count()
    assert row["facts"]["inspect"]["version"]
    printed = home.run("machines").out
    for word in ("link", "probe", "inspect", "GPUs", "Docker", "clock"):
        assert f"  {word}" in printed


def test_a_recording_onto_a_full_disk_ends_with_a_sentence(home: Home) -> None:
    home.watch_here(home.folder / "d")
    ran = home.run("--record", "/dev/full", "status")
    assert ran.status == 1
    assert "the recording /dev/full is not complete: No space left on device" in ran.err


def test_machines_wait_for_what_docker_answers(home: Home) -> None:
    tool = home.folder / "docker"
    tool.write_text('#!/bin/sh\nsleep 1; [ "$1" = ps ] || echo 27.9.9\n')
    tool.chmod(0o755)
    home.watch_here(home.folder / "d")
    ran = home.run("machines", env={"PATH": f"{home.folder}:{os.environ['PATH']}"})
    assert "  Docker  27.9.9, 0 containers" in ran.out


def test_a_watch_reports_an_eval_from_its_start_to_its_end(home: Home, evals: Evals) -> None:
    gate = evals.folder / "gate"
    one = evals.start("turns", args={"samples": 2, "turns": 12, "sleep": 0.3, "gate": gate})
    home.watch_here(one.data_dir)
    child = home.start("watch", "--json", "--for", "600")
    assert child.stdout is not None
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["event"] != "LogRead":
        line = child.stdout.readline()
        assert line, seen[-3:]
        seen.append(json.loads(line))
        if seen[-1]["event"] == "SamplesSeen":
            gate.touch()
    child.terminate()
    assert child.wait(GRACE_S) == 143
    child.stdout.close()
    kinds = [each["event"] for each in seen]
    assert kinds[0] in {"LinkChanged", "MachineNamed"}
    assert {"ProbeAnswered", "ProcessSeen", "TasksSeen", "SamplesSeen"} <= set(kinds)
    assert not {"LinkHeard", "ReadsUnchanged", "TimePassed"} & set(kinds)
    [row] = next(each["rows"] for each in seen if each["event"] == "TasksSeen" and each["rows"])
    assert row["log_location"].startswith(str(one.log_dir))
    assert seen[-1]["header"]["status"] == "success"
