"""`evalroom launch` without a dry run, and what tells of runs: `runs`, `run`, `output`."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Home, machine
from tests.support.evals import short_folder
from tests.support.launches import end_all
from tests.support.specs import SMOKE

pytestmark = pytest.mark.xdist_group("launches")


@pytest.fixture
def here() -> Iterator[Home]:
    """A home that names this computer, also as production and as read-only."""
    with short_folder() as folder:  # an eval's socket lies in it
        yield _named(Home(folder))


def _named(home: Home) -> Home:
    home.configure(
        machine("local") + machine("prod") + "production = true\n"
        + machine("look") + "read_only = true\n"
    )  # fmt: skip
    (home.folder / "s.toml").write_text(SMOKE)
    return home


def without_end(run: dict[str, Any]) -> dict[str, Any]:
    """A run without the time of its end."""
    return {name: value for name, value in run.items() if name != "ended_at"}


def test_a_spec_is_launched_waited_for_and_reported(here: Home) -> None:
    ran = here.run("launch", "s.toml", "--yes", "--wait", "--json")
    printed = ran.json
    assert ran.status == 0, printed
    assert (printed["state"], printed["status"]) == ("success", "success")
    [score] = printed["scores"]
    assert (score["metric"], score["value"]) == ("accuracy", 0.7)
    assert Path(printed["logs"][0]["location"]).exists()

    # Nobody asks a machine for what is over: it is known from the history.
    [listed] = here.run("runs", "--json").json["runs"]
    assert without_end(listed) == without_end(printed)
    part = printed["run_id"][:13]
    assert without_end(here.run("run", part, "--json").json) == without_end(printed)
    # The host's clock is measured anew for each read of the logs.
    assert listed["ended_at"] == pytest.approx(printed["ended_at"], abs=5.0)
    text = here.run("run", part).out
    for words in ("eval-set tasks/smoke.py@evalroom/smoke", "success  10/10", "accuracy .70"):
        assert words in text
    printed = here.run("output", part).out
    assert '"event": "done"' in printed


def made(here: Home) -> set[str]:
    """What launches left in that home; what probes share about evals of this account may be."""
    return {each.name for each in here.folder.glob(".evalroom/*")} - {"polls"}


def test_nothing_is_launched_without_a_yes(here: Home) -> None:
    ran = here.run("launch", "s.toml")
    assert ran.status == 4
    assert "add --yes" in ran.err
    assert "task: evalroom/smoke comes with evalroom" in ran.out
    assert not made(here)
    assert here.run("runs").out == "nothing has been launched yet\n"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("--set", "machine=prod", "--yes"), 4, "add --confirm 'prod'"),
        (("--set", "machine=look", "--yes"), 1, "read-only"),
        (("--set", "model=openai/x", "--yes"), 4, "OPENAI_API_KEY"),
        (("--set", "gpus=1", "--yes"), 4, "nvidia-smi"),
        (("--set", "secrets=['NOPE']", "--yes"), 4, "NOPE"),
    ],
)
def test_a_run_that_may_not_be_launched_says_why(
    here: Home, words: tuple[str, ...], status: int, says: str
) -> None:
    ran = here.run("launch", "s.toml", *words)
    assert ran.status == status, (ran.out, ran.err)
    assert says in ran.out + ran.err
    assert not made(here)


def test_an_interrupted_launch_says_where_to_look(here: Home) -> None:
    child = here.start("launch", "s.toml", "--yes", "--wait", err=subprocess.STDOUT)
    assert child.stdout is not None
    notes = ""
    while ": preparing" not in notes:
        line = child.stdout.readline().decode()
        assert line, notes
        notes += line
    os.killpg(child.pid, signal.SIGINT)
    printed = child.communicate()[0].decode()
    assert child.returncode == 130
    [listed] = here.run("runs", "--json").json["runs"]
    assert f"runs that have started keep running: {listed['run_id']}. See: evalroom runs" in printed
    end_all([listed["run_id"]])


def test_a_run_that_does_not_exist_is_reported(here: Home) -> None:
    ran = here.run("run", "nope")
    assert ran.status == 2
    assert "no run matches nope" in ran.err


def test_the_reason_that_stops_a_launch_is_json_too(here: Home) -> None:
    ran = here.run("launch", "s.toml", "--set", "gpus=1", "--yes", "--json")
    assert ran.status == 4
    assert ran.json["error"]["kind"] == "not_confirmed"
    [plan] = ran.json["plans"]
    assert [each["name"] for each in plan["checks"] if each["level"] == "stop"] == ["GPUs"]
