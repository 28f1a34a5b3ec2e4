"""The probe beside and inside real containers."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.proc import stat_of
from tests.support.direct_probe import DirectProbe, direct_probe
from tests.support.docker_engine import BASE_PYTHON, PYTHON, DockerEngine, docker_group
from tests.support.processes import all_pids
from tests.support.programs import program_file
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S, wait_until

pytestmark = docker_group

_AGENT = """
import json, os, socket, sys, time
control = os.environ["XDG_DATA_HOME"] + "/inspect_ai/control"
os.makedirs(control, exist_ok=True)
path = f"{control}/{os.getpid()}"
listener = socket.socket(socket.AF_UNIX)
listener.bind(path + ".sock")
listener.listen(8)
with open(path + ".part", "w") as file:
    json.dump(dict(pid=os.getpid(), socket_path=path + ".sock", started_at=time.time()), file)
os.rename(path + ".part", path + ".json")
while True:
    connection, _ = listener.accept()
    if connection.recv(65536):
        with open(sys.argv[2], "a") as file:
            file.write("asked\\n")
        connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\n[]")
    connection.close()
"""
_LEAVES_CHILDREN = "#!/bin/sh\nsleep 0.05 >/dev/null 2>&1 &\nsleep 1000 >/dev/null 2>&1 &\n"


@contextmanager
def contained_agent(engine: DockerEngine, home: Path) -> Generator[str, None, None]:
    """Yield the id of a container in which a program looks like an eval of this computer.

    Its command line names `bin/python3` in a folder that it shares with this computer, where
    that file is a program of its own.
    """
    (home / "bin").mkdir(parents=True)
    (home / "inspect").write_text(_AGENT)
    trap = home / "bin" / "python3"
    trap.write_text(f"#!/bin/sh\necho ran >>{home}/ran\n")
    trap.chmod(0o755)
    start = (
        "import os, sys\n"
        f"os.execv({BASE_PYTHON!r}, [{str(trap)!r}, '-S', {str(home / 'inspect')!r}, 'eval',"
        f" {str(home / 'asked')!r}])"
    )
    with engine.container(
        *PYTHON, f"--volume={home}:{home}", f"--env=XDG_DATA_HOME={home}/data",
        f"--env=PYTHONHOME={Path(BASE_PYTHON).parents[1]}",
        command=(BASE_PYTHON, "-S", "-c", start),
    ) as name:  # fmt: skip
        control = home / "data" / "inspect_ai" / "control"
        wait_until(
            lambda: list(control.glob("*.json")),
            "the agent listens",
            seen=lambda: engine.run("logs", name),
        )
        yield name


def contained_row(probe: DirectProbe, name: str) -> dict[str, Any]:
    """Wait until a process of this container is listed."""

    def found() -> list[dict[str, Any]]:
        rows = [each for each in probe.processes() if each["container"]]
        return [each for each in rows if each["container"]["id"] == name[:12]]

    row: dict[str, Any] = probe.until(found)[0]
    return row


def test_a_sandboxed_agent_that_looks_like_an_eval_runs_nothing_here(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    home = tmp_path / "shared"
    with contained_agent(docker_engine, home) as name:
        for data_dir in (home / "data", None):  # as the machine's data folder, and beside it
            with direct_probe(data_dir, env={"HOME": str(tmp_path / "operator")}) as probe:
                row = contained_row(probe, name)
                assert (row["container"]["engine"], row["container"]["pid"]) == ("docker", 1)
                assert row["argv"][0] == str(home / "bin" / "python3")
                assert (row["python"], row["cwd"], row["socket_path"]) == (None, None, None)
                place = {"pid": row["pid"], "start": row["start"]}
                for kind, more in (("signal", {"signal": "KILL"}), ("get", {"path": "/tasks"})):
                    error = probe.reply(probe.ask(kind, **place, **more)).head["error"]
                    assert error.startswith("not sent: it runs in a container")
                asked = {"what": "headers", "logs": ["/n.eval"], "errored": 1, "others": 1}
                asked["bytes"] = 1000
                probe.reply(probe.ask("logs", **place, pythons=[], asked=asked))
                assert stat_of(row["pid"]) is not None
    assert not (home / "ran").exists()
    assert not (home / "asked").exists()


@contextmanager
def probe_in(
    engine: DockerEngine, name: str, folder: Path, *exec_options: str
) -> Generator[DirectProbe, None, None]:
    """Yield a probe in a container that mounts `folder`, started as a command link does."""
    program = folder / "probe.py"
    shutil.copy(program_file("probe"), program)
    child = subprocess.Popen(
        [*engine.words, "exec", "-i", *exec_options, name, BASE_PYTHON, "-I", str(program)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    probe = DirectProbe(child)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        probe.send(
            "start", desk="", read_only=False, data_dir=None, clocks=[], facts_every=1,
            discover_every=0.2,
        )  # fmt: skip
        yield probe
        child.stdin.close()
        child.wait(WAIT_S)
    finally:
        child.kill()
        child.wait()
        wait_until(lambda: probe.ended, "its output ended")
        child.stdin.close()
        child.stdout.close()


def zombies_in(namespace: str) -> list[int]:
    """The pids of processes in a pid namespace that ended and that nobody waited for."""
    found = []
    for pid in all_pids():
        stat = stat_of(pid)
        if stat is not None and stat[0] == "Z" and namespace_of(stat[1]) == namespace:
            found.append(pid)
    return found


def wait_called(calls: Path) -> None:
    """Wait until a tool that adds a line to this file for each call was called some more times."""
    before = len(calls.read_text())
    wait_until(lambda: len(calls.read_text()) > before + 4, "the tool is called")


def namespace_of(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - it is not a path
    except OSError:
        return ""


def test_a_probe_in_a_container_leaves_no_zombies_and_knows_its_limits(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    """The container's first process waits for nothing, and tools leave children behind."""
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    calls = tmp_path / "calls"
    calls.touch()
    tool.write_text(f"{_LEAVES_CHILDREN}echo >>{calls}\n")
    tool.chmod(0o755)
    options = (*PYTHON, f"--volume={tmp_path}:{tmp_path}", "--memory=256m", "--cpus=1.5")
    with docker_engine.container(*options) as name:
        first = int(docker_engine.run("inspect", "--format={{.State.Pid}}", name))
        for _ in range(2):
            path = f"--env=PATH={tool.parent}:/bin"
            with probe_in(docker_engine, name, tmp_path, path) as probe:
                hello = probe.first("hello")
                assert hello.head["namespace"] == namespace_of(first)
                facts = json.loads(probe.first("facts").body)
                assert facts["memory"]["total"] == 256 * 1024 * 1024
                assert 0 < facts["memory"]["available"] <= 256 * 1024 * 1024
                assert facts["cpus"] == 1.5
                wait_called(calls)
                wait_until(
                    lambda: not zombies_in(namespace_of(first)), "the probe waits for what ended"
                )
        wait_until(
            lambda: docker_engine.run("exec", name, "ps", "-o", "comm").split() == [
                "COMMAND", "sleep", "ps"
            ],
            "nothing is left in the container",
            seen=lambda: docker_engine.run("exec", name, "ps", "-o", "pid,ppid,stat,args"),
        )  # fmt: skip


_HOST_PIDS = """#!/bin/sh
case "$*" in
*--query-gpu=*) echo "0, GPU-aaaa, H100, 97, 71000, 81559, 61, 390.5, 700.00, [N/A]" ;;
*--query-compute-apps=*) echo "GPU-aaaa, 1, 70000" ;;
esac
"""
"""An nvidia-smi that lists processes by the pids of the host, as the driver does."""


@pytest.mark.parametrize("has_gpu", [True, False])
def test_the_facts_of_a_container_are_its_own_or_unknown(
    docker_engine: DockerEngine, tmp_path: Path, *, has_gpu: bool
) -> None:
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    if has_gpu:
        tool.write_text(_HOST_PIDS)
        tool.chmod(0o755)
    options = (*PYTHON, f"--volume={tmp_path}:{tmp_path}", "--memory=256m", "--cpus=1.5")
    with (
        docker_engine.container(*options, "--tmpfs=/root:size=5m") as name,
        probe_in(docker_engine, name, tmp_path, f"--env=PATH={tool.parent}:/bin") as probe,
    ):

        def whole() -> dict[str, Any] | None:
            found = [json.loads(frame.body) for frame in probe.of("facts")[-1:]]
            is_read = found and found[0]["disks"] and found[0]["docker"]["state"] != "unknown"
            return found[0] if is_read and found[0]["gpu_state"] != "unknown" else None

        facts = probe.until(whole)
        assert facts["load"] == []
        assert (facts["memory"]["total"], facts["cpus"]) == (256 * 1024 * 1024, 1.5)
        [home] = facts["disks"]
        assert (home["path"], home["total"]) == ("/root", 5 * 1024 * 1024)
        assert (facts["docker"]["state"], facts["docker"]["containers"]) == ("absent", [])
        if has_gpu:
            [gpu] = facts["gpus"]
            assert (gpu["name"], gpu["utilisation"], gpu["pids"]) == ("H100", 97, [])
            assert "outside this container" in facts["gpu_error"]
        else:
            assert (facts["gpus"], facts["gpu_state"]) == ([], "absent")


def test_an_eval_in_a_container_is_one_row_with_its_machine(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    home = tmp_path / "shared"
    with contained_agent(docker_engine, home) as name:
        config = tmp_path / "config.toml"
        command = json.dumps([*docker_engine.words, "exec", "-i", name])
        machine = (
            '[[machines]]\nname = "here"\nlink = "command"\ncommand = []\n'
            f"python = {json.dumps(sys.executable)}\ndata_dir = {json.dumps(str(home / 'data'))}\n"
        )
        inside = (
            f'[[machines]]\nname = "sandbox"\nlink = "command"\ncommand = {command}\n'
            f"python = {json.dumps(BASE_PYTHON)}\ndata_dir = {json.dumps(str(home / 'data'))}\n"
        )
        seen = {}
        for text in (machine, machine + inside):
            config.write_text(text)
            done = subprocess.run(
                [sys.executable, "-m", "cli", "--config", config, "status", "--json"],
                cwd=ROOT, capture_output=True, text=True, check=False, timeout=WAIT_S,
                env={**os.environ, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)},
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            seen[text] = json.loads(done.stdout)["processes"]
        [outside], [row] = seen.values()
        assert (outside["machine"], outside["state"]) == ("here", "in a container")
        assert f'"docker", "exec", "-i", "{name[:12]}"' in outside["signal_reason"]
        assert (row["machine"], row["pid"], row["state"]) == ("sandbox", 1, "live")
