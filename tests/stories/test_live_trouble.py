"""Real trouble of real evals, watched headless: found, told with its cause, and closed again."""

import json
import os
import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.incidents.model_server import ModelServer
from tests.support.commands import Home, machine
from tests.support.evals import Eval, Evals, short_folder
from tests.support.memory_groups import memory_group
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
FOUND_S = 240.0
"""Seconds in which a finding opens; a busy computer delays the polls of a busy eval."""
RULES = """
[watch]
facts_every = 2
[watch.cadences]
spin-up = { tasks = 1, samples = 1 }
ramping = { tasks = 1, samples = 1 }
steady = { tasks = 1, samples = 1 }
near-the-end = { tasks = 1, samples = 1 }
trouble = { tasks = 1, samples = 1 }
[judge.retry-storm]
window = 30
retries = 5
"""


@pytest.fixture
def home() -> Iterator[Home]:
    """An operator's home, under a short path."""
    with short_folder() as folder:
        yield Home(folder)


@contextmanager
def watching(home: Home, data_dir: Path) -> Generator[None]:
    """Run a room without a screen for the block."""
    home.configure(machine("here", data_dir) + RULES)
    room = home.start("watch", "--findings", "--json")
    try:
        yield
    finally:
        os.killpg(room.pid, signal.SIGKILL)
        room.communicate()


def scripted(evals: Evals, script: dict[str, Any], **how: Any) -> Eval:
    """Start an eval whose samples do what a script says."""
    path = evals.folder / "script.json"
    path.write_text(json.dumps(script))
    return evals.start("scripted", args={"script": path}, **how).wait_ready()


def findings(home: Home, kind: str, *words: str) -> list[dict[str, Any]]:
    """Return the findings of a kind."""
    ran = home.run("findings", "--json", *words)
    found: list[dict[str, Any]] = ran.json.get("findings", []) if ran.status == 0 else []
    return [each for each in found if each["kind"] == kind]


def wait_found(home: Home, kind: str, *severities: str, about: str = "") -> dict[str, Any]:
    """Return the open finding of a kind about something once it has one of the severities."""

    def there() -> dict[str, Any] | None:
        now = [each for each in findings(home, kind) if about in each["evidence"]]
        return next((each for each in now if each["severity"] in severities), None)

    what = f"{kind} is {' or '.join(severities)}"
    return wait_until(there, what, FOUND_S, seen=lambda: findings(home, kind))


def wait_closed(home: Home, found: dict[str, Any]) -> None:
    """Wait until a finding has closed by itself."""

    def over() -> bool:
        listed = findings(home, found["kind"], "--closed")
        return any(each["id"] == found["id"] and each["closed_at"] for each in listed)

    wait_until(over, f"{found['kind']} closes", FOUND_S)


def test_a_retry_storm(home: Home, evals: Evals) -> None:
    server = ModelServer()
    script = {"samples": 400, "steps": ["generate 1", "generate 1"]}
    try:
        one = scripted(
            evals, script, options=("--max-samples=4",), env={"MODEL_SERVER": server.url}
        )
        with watching(home, one.data_dir):
            one.wait_rows(lambda rows: rows[0]["samples"]["completed"] > 0)
            server.status = 429
            storm = wait_found(home, "retry-storm", "suspect", "alarm")
            assert "in waits for retries" in storm["evidence"]
            assert [each["action"] for each in storm["actions"]] == ["config", "pause"]
            server.status = 200
            wait_closed(home, storm)
    finally:
        server.close()


@contextmanager
def little_memory(one: Eval, mib: int) -> Generator[None]:
    """Give an eval a control group of so much memory."""
    if os.geteuid() != 0:
        pytest.skip("a control group of memory can be made by root alone")
    with memory_group(mib * 2**20) as group:
        try:
            (group / "cgroup.procs").write_text(str(one.pid))
            yield
        finally:
            one.end()


def test_an_eval_that_is_killed_for_lack_of_memory(home: Home, evals: Evals) -> None:
    gate = evals.folder / "gate"
    others = {"s002": [f"until {gate}", "eat 900"]}
    one = scripted(evals, {"samples": 2, "steps": ["generate 5"], "others": others})
    with little_memory(one, 600), watching(home, one.data_dir):
        wait_until(lambda: findings(home, "milestone", "--closed"), "a sample is done", FOUND_S)
        gate.touch()
        killed = wait_found(home, "process", "alarm")
        assert "memory" in killed["evidence"]


@contextmanager
def small_disk(place: Path, mib: int) -> Generator[Path]:
    """Mount a disk for logs."""
    if os.geteuid() != 0:
        pytest.skip("a small file system can be mounted by root alone")
    place.mkdir()
    words = ("mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", place)
    subprocess.run(words, check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_disk_of_logs_that_fills(home: Home, evals: Evals) -> None:
    with small_disk(evals.folder / "disk", 64) as disk:
        one = scripted(evals, {"samples": 2, "steps": ["tool 10000"]}, log_dir=disk / "logs")
        with watching(home, one.data_dir):
            filled = disk / "filled"
            filled.write_bytes(bytes(59 * 2**20))
            low = wait_found(home, "pressure", "suspect", about=str(disk))
            with filled.open("ab") as more:
                more.write(bytes(4 * 2**20))
            full = wait_found(home, "pressure", "alarm", about=str(disk))
            assert full["id"] == low["id"]
            filled.unlink()
            wait_closed(home, full)
        one.end()
