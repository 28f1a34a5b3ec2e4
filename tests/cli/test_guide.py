"""`evalroom guide` as a program, on real evals."""

import time
from pathlib import Path

import pytest

from ssh.shipped.probe.probe import LEASE_S
from tests.support.commands import EVALROOM, Home
from tests.support.evals import Evals
from tests.support.terminal import Terminal
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("guides")


@pytest.mark.slow
def test_park_goes_as_far_as_is_confirmed_and_resume_goes_on(evals: Evals, tmp_path: Path) -> None:
    one = evals.start(
        "quiet", eval_set=True, args={"samples": 3_000, "seconds": 0.5},
        options=("--model", "mockllm/model", "--max-samples=2"),
    ).wait_ready()  # fmt: skip
    one.wait_rows(bool)
    home = Home(tmp_path)
    home.watch_here(one.data_dir)
    target = f"here:{one.pid}"

    tried = home.run("guide", "interrupt", target, "--dry-run")
    assert tried.status == 0, tried
    assert "eval-set --detach" in tried.out
    assert "no new samples start" in tried.out
    assert "no guide has been started" in home.run("guide", "list").out
    assert not one.task()["process_paused"]

    refused = home.run("guide", "interrupt", target)
    assert refused.status == 4, refused
    assert "Add --yes" in refused.out
    assert not one.task()["process_paused"]
    [left] = home.run("guide", "list", "--json").json["guides"]
    assert (left["kind"], left["steps"][1]["state"]) == ("interrupt", "waiting")

    closed = home.run_closed("guide", "resume", left["id"])
    assert (closed.status, "Add --yes" in closed.out) == (4, True)
    for keys, status in (("n\r", 4), ("\x04", 4), ("\x03", 130)):
        terminal = Terminal((*EVALROOM, "guide", "resume", left["id"]), env=home.env, cwd=tmp_path)
        try:
            terminal.until("? [y/N] ")
            terminal.type(keys)
            assert terminal.wait_end() == status
        finally:
            terminal.close()
    assert not one.task()["process_paused"]

    paused = home.run("guide", "resume", left["id"][:6], "--yes", "--json")
    assert paused.status == 4, paused
    [guide] = paused.json["guides"]
    assert f"--confirm '{one.pid}'" in guide["why"]
    assert [step["state"] for step in guide["steps"]] == ["done"] * 4 + ["waiting"] * 2
    assert one.task()["process_paused"]
    assert one.popen.poll() is None

    wrong = home.run("guide", "resume", left["id"], "--confirm", "1")
    assert wrong.status == 4
    assert "--confirm '1' does not match the text to confirm: this step was not sent" in wrong.out
    assert one.popen.poll() is None

    ended = home.run("guide", "resume", left["id"], "--confirm", str(one.pid))
    assert ended.status == 0, ended
    assert "the process is gone; 1 log: 1 cancelled" in ended.out
    assert one.popen.wait(WAIT_S) == 0
    again = home.run("guide", "resume", left["id"], "--yes")
    assert (again.status, "has ended" in again.err) == (2, True)


@pytest.mark.slow
def test_a_link_stays_up_over_a_question_that_is_longer_than_the_lease_of_a_probe(
    evals: Evals, tmp_path: Path
) -> None:
    one = evals.start(
        "quiet", eval_set=True, args={"samples": 4, "seconds": 3_600},
        options=("--model", "mockllm/model", "--max-samples=2"),
    ).wait_ready()  # fmt: skip
    one.wait_rows(bool)
    home = Home(tmp_path)
    home.watch_here(one.data_dir)
    words = ("guide", "interrupt", f"here:{one.pid}")
    terminal = Terminal((*EVALROOM, *words), env=home.env, cwd=tmp_path)
    try:
        terminal.until("? [y/N] ")
        probe = children_of(terminal.process.pid)
        assert probe
        time.sleep(LEASE_S + 10)
        assert children_of(terminal.process.pid) == probe
        terminal.type("y\r")
        terminal.until("paused")
    finally:
        terminal.close()
    assert one.task()["process_paused"]


def children_of(pid: int) -> set[int]:
    """The processes that a process started and that live."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return {int(each) for each in found}


@pytest.mark.slow
def test_an_incident_stays_open_until_it_is_resumed(evals: Evals, tmp_path: Path) -> None:
    one = evals.start(
        "turns", args={"samples": 200, "turns": 100}, options=("--max-samples=4",)
    ).wait_ready()
    one.wait_rows(bool)
    home = Home(tmp_path)
    home.watch_here(one.data_dir)
    assert home.run("guide", "incident", "--yes").status == 2
    begun = home.run("guide", "incident", "--model", "mock/talker", "--now", "--yes", "--json")
    assert begun.status == 0, begun
    assert one.task()["paused_now"] == ["model"]
    [guide] = begun.json["guides"]
    assert guide["state"] == "waiting"
    back = home.run("guide", "resume", guide["id"], "--yes")
    assert back.status == 0, back
    assert "1 resumed" in back.out
    assert not one.task()["paused_models"]


def test_words_that_go_with_another_guide_are_refused(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("guide", "interrupt", "x", "--others")
    assert (ran.status, "guide cleanup" in ran.err) == (2, True)
