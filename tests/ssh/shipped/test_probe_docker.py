"""The probe's reading of Docker: bounded, and tied to the samples that made the containers."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ssh.shipped.common.failures import Failed, Stuck
from ssh.shipped.probe import dead_sandboxes, docker, network_mounts
from ssh.shipped.probe.dead_sandboxes import DeadSandboxes, is_exported
from ssh.shipped.probe.docker import MAX_CONTAINERS, DockerReader

PROJECT = "inspect-task-iabc{:03}"
COMMAND = "docker compose --project-name {} -f c.yaml up --detach"
Script = Callable[[str], None]


def row(number: int, **more: Any) -> str:
    made = {"id": f"{number:064x}", "name": f"box-{number}", "status": "Up 2 hours", "project": "",
            "image": "an-image-with-a-usual-name:1", "created": "?", **more}  # fmt: skip
    return json.dumps(made) + "\n"


class Reader:
    """A reader of a stand-in for docker, and what it was called with."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.holders: dict[str, tuple[Any, ...]] = {}
        processes = SimpleNamespace(by_key={}, data_roots=lambda: {str(folder / "inspect_ai")})
        traces = SimpleNamespace(holders=lambda: self.holders, forget_removed=lambda _: None)
        self._reader = DockerReader(processes, traces)
        monkeypatch.setattr(docker, "find_tool", lambda _: str(folder / "docker"))

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = self._reader()
        return found

    def docker(self, rows: str = "", ps: str = "", stats: str = "") -> None:
        (self.folder / "rows").write_text(rows)
        tool = self.folder / "docker"
        tool.write_text(
            f'#!/bin/sh\necho "$@" >>{self.folder}/calls\ncase "$1" in version) echo 27.1.1;;'
            f" ps) {ps or 'cat ' + str(self.folder / 'rows')};;"
            f" stats) {stats or 'true'};; esac\n"
        )
        tool.chmod(0o755)

    def calls(self, verb: str) -> list[str]:
        lines = (self.folder / "calls").read_text().splitlines()
        return [line for line in lines if line.startswith(verb)]


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(tmp_path, monkeypatch)


def test_thousands_of_containers_are_counted_and_those_of_inspect_come_first(
    reader: Reader,
) -> None:
    rows = [row(number) for number in range(3_000)]
    rows += [row(3_000 + number, project=PROJECT.format(number)) for number in range(200)]
    reader.docker("".join(rows))
    found = reader.read()
    assert (found["total"], len(found["containers"])) == (3_200, MAX_CONTAINERS)
    assert sum(bool(each["project"]) for each in found["containers"]) == 200
    [measured] = reader.calls("stats")
    assert len(measured) < 2_000


def test_a_docker_that_prints_without_end_fails_and_says_so(reader: Reader) -> None:
    reader.docker(ps="yes '{}' | head -c 50000000")
    with pytest.raises(Failed, match="more than 16777216 bytes"):
        reader.read()


def test_a_docker_that_hangs_is_stuck_after_its_time(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "TOOL_TIMEOUT_S", 1.0)
    reader.docker(ps="sleep 1000")
    began = time.monotonic()
    with pytest.raises(Stuck):
        reader.read()
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("stats", ["sleep 1000", "exit 1", "yes | head -c 3000000"])
def test_a_memory_that_cannot_be_read_hides_no_container_and_is_rarely_tried(
    stats: str, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker, "MEMORY_TIMEOUT_S", 0.5)
    reader.docker(row(1), stats=stats)
    for _ in range(5):
        [found] = reader.read()["containers"]
        assert (found["name"], found["memory"]) == ("box-1", None)
    assert len(reader.calls("stats")) == 1


def test_a_container_is_tied_to_the_sample_that_made_it(reader: Reader) -> None:
    reader.holders = {PROJECT.format(1): (7, "b-1", "task", "s1", 2, True)}
    reader.docker(row(1, project=PROJECT.format(1)) + row(2, project=PROJECT.format(2)))
    first, second = reader.read()["containers"]
    assert first["holder"] == {
        "pid": 7, "start": "b-1", "task": "task", "sample_id": "s1", "epoch": 2, "is_alive": True,
    }  # fmt: skip
    assert second["holder"] is None


# -- evals that died


@pytest.fixture
def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


@pytest.fixture
def trace(tmp_path: Path, dead_pid: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The trace of an eval that died, on a disk of this host."""
    monkeypatch.setattr(dead_sandboxes, "is_on_network", lambda _: False)
    monkeypatch.setattr(dead_sandboxes, "pid_namespace", lambda _: "pid:[4026531836]")
    path = tmp_path / "inspect_ai" / "traces" / f"trace-{dead_pid}.log"
    path.parent.mkdir(parents=True)
    detail = COMMAND.format(PROJECT.format(5))
    line = {"action": "Subprocess", "detail": detail, "event": "enter", "trace_id": "a",
            "start_time": 5.0, "task": "task", "sample_id": 1, "epoch": 1}  # fmt: skip
    path.write_text(json.dumps(line) + "\n")
    return path


def test_an_eval_that_died_unseen_is_known_by_the_trace_that_it_left(
    trace: Path, dead_pid: int, reader: Reader
) -> None:
    reader.docker(row(1, project=PROJECT.format(5)))
    [found] = reader.read()["containers"]
    assert found["holder"] == {
        "pid": dead_pid, "start": "", "task": "task", "sample_id": 1, "epoch": 1,
        "is_alive": False,
    }  # fmt: skip
    with trace.open("a") as file:  # a process in a container, with another pid here
        file.write("\n")
        file.flush()
        [found] = reader.read()["containers"]
        assert found["holder"] is None


def test_a_trace_of_a_folder_that_another_host_may_write_to_proves_nothing(
    trace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = {str(trace.parents[1])}
    assert PROJECT.format(5) in DeadSandboxes().holders(root)
    exports = tmp_path / "etab"
    monkeypatch.setattr(dead_sandboxes, "EXPORTS", (str(exports),))
    exports.write_text(f"# a comment\n\n{tmp_path}\t*(rw,sync)\n")
    assert is_exported(str(trace.parents[1]))
    assert DeadSandboxes().holders(root) == {}
    exports.write_text("/somewhere/else *(rw)\n")
    assert PROJECT.format(5) in DeadSandboxes().holders(root)
    monkeypatch.setattr(dead_sandboxes, "is_on_network", network_mounts.is_on_network)
    monkeypatch.setattr(network_mounts, "read_file", _as_if_on_nfs(tmp_path))
    assert DeadSandboxes().holders(root) == {}


def _as_if_on_nfs(folder: Path) -> Callable[..., bytes]:
    return lambda *_: f"36 35 0:1 / {folder} rw - nfs4 node1:/home rw\n".encode()


def test_where_processes_of_the_host_are_hidden_no_trace_proves_anything(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_sandboxes, "pid_namespace", lambda _: "pid:[4026532000]")
    assert DeadSandboxes().holders({str(trace.parents[1])}) == {}


def test_a_trace_of_a_living_process_is_not_of_a_dead_one(trace: Path) -> None:
    trace.rename(trace.with_name(f"trace-{os.getpid()}.log"))
    assert DeadSandboxes().holders({str(trace.parents[1])}) == {}
