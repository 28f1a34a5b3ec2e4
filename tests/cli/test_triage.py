"""`evalroom triage`, on a real eval whose command hangs."""

import shlex
from pathlib import Path

from tests.support.commands import NO_PRESSURE, Home, machine
from tests.support.evals import Evals
from tests.support.waiting import wait_until


def test_the_report_names_what_hangs_and_what_to_do(evals: Evals, home: Home) -> None:
    one = evals.start("hung", args={"samples": 1}).wait_ready()
    rules = "".join(
        f"[judge.stall.{doing}]\nsuspect = 0\nalarm = 0\n" for doing in ("sandbox", "thinking")
    )
    home.configure(machine("here", one.data_dir) + NO_PRESSURE + rules)
    wait_until(lambda: "sleep 1000" in home.run("why", "hung#s0/1").out, "its command hangs")
    ran = home.run("triage")
    assert (ran.status, ran.err) == (0, "")
    assert "0 of 1 sample done" in ran.out
    assert "Next" in ran.out
    why = home.run("why", "hung#s0/1")
    assert (why.status, why.err) == (0, "")
    assert "it looks stuck" in why.out
    assert "sleep 1000" in why.out
    known = home.run("why", f"here:{one.pid}", "--json").json
    assert (known["word"], known["name"]) == ("suspect", f"process {one.pid} on here")
    answer = home.run("triage", "hung", "--json").json
    [task] = answer["tasks"]
    assert task["stalled"][0]["severity"] == "alarm"
    [step] = answer["next"]
    assert step["command"].startswith("evalroom act cancel")
    words = shlex.split(step["command"])
    dry = home.run(*words[1:], "--dry-run")
    assert dry.status in {0, 4}, dry.err
    assert "hung" in dry.out


def test_a_wrong_target_is_two_sentences(home: Home) -> None:
    home.watch_here(Path("/nonexistent"))
    ran = home.run("triage", "nothing")
    assert ran.status == 2
    assert "no task matches nothing" in ran.err
    ran = home.run("why", "here:")
    assert ran.status == 2
    assert "neither a sample nor a process" in ran.err
