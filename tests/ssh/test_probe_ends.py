"""The probe and its children never outlive the link: none is left, whatever happens."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.model.machine import LinkState
from tests.support.direct_probe import direct_probe
from tests.support.fake_eval import fake_eval, http
from tests.support.hearing import hearing
from tests.support.reached import connection_of, machine_of, trusting
from tests.support.sshd import Sshd, running

LEASE = 2.0


def command_of(pid: int) -> str:
    """A process's command line; empty when it is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether a process lives and is no zombie."""
    return bool(command_of(pid))


def pids_with(words: str) -> list[int]:
    """The living processes whose command line holds `words`."""
    return [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and words in command_of(int(entry.name))
    ]


def gone(pids: Callable[[], list[int]], seconds: float) -> bool:
    """Whether these are gone within `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not pids():
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def hanging_tool(tmp_path: Path) -> Iterator[Path]:
    """A folder whose nvidia-smi hangs, with a child that hangs too; both name the folder."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "asleep").symlink_to(shutil.which("sleep") or "/bin/sleep")
    tool = folder / "nvidia-smi"
    asleep = f"{folder}/asleep 4321"
    tool.write_text(f"#!/bin/sh\ntrap '' TERM HUP INT\n{asleep} & wait\n{asleep}\n")
    tool.chmod(0o755)
    yield folder
    for pid in pids_with(str(folder)):
        os.kill(pid, signal.SIGKILL)


def test_the_end_of_its_input_ends_it(tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        assert probe.child.stdin is not None
        probe.child.stdin.close()
        assert probe.process_ended(10)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it(sign: signal.Signals, tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        probe.child.send_signal(sign)
        assert probe.process_ended(10)


def test_a_stop_ends_it_with_a_bye(tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        probe.send("stop")
        assert probe.first("bye").head["reason"] == "stopped"
        assert probe.process_ended(10)


def test_without_a_beat_it_stops_asking_and_then_ends(tmp_path: Path) -> None:
    def serve(connection: object, _: str) -> bool:
        connection.sendall(http(b"[]"))  # type: ignore[attr-defined]
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path, lease=4.0) as probe:
        row = probe.process(fake.pid)
        place = {"pid": fake.pid, "start": row["start"]}
        begun = time.monotonic()
        probe.send("watch", **place, name="tasks", path="/tasks", every=0.2, as_of=None)
        assert probe.process_ended(20)
        ended = time.monotonic()
        assert ended - begun >= 3.5
        assert len(fake.asked) >= 2
        assert ended - fake.asked[-1][0] >= 1.0, "for the rest of its lease it asks nothing"


def test_beats_keep_it_alive(tmp_path: Path) -> None:
    with direct_probe(tmp_path, lease=2.0) as probe:
        end = time.monotonic() + 3.5
        while time.monotonic() < end:
            probe.send("beat")
            time.sleep(0.3)
        assert not probe.process_ended(0.1)


def test_a_blocked_write_does_not_keep_it(tmp_path: Path) -> None:
    def serve(connection: object, _: str) -> bool:
        connection.sendall(http(b"[" + b"1," * 500_000))  # type: ignore[attr-defined]
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path, lease=LEASE) as probe:
        row = probe.process(fake.pid)
        probe.stop_reading()
        place = {"pid": fake.pid, "start": row["start"]}
        probe.send("watch", **place, name="tasks", path="/tasks", every=0.2, as_of=None)
        assert probe.process_ended(LEASE + 10)


@pytest.mark.parametrize("how", ["eof", "lease", "SIGTERM"])
def test_a_hung_tool_and_its_children_go_with_it(
    how: str, hanging_tool: Path, tmp_path: Path
) -> None:
    env = {"PATH": f"{hanging_tool}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env, lease=LEASE, facts_every=1) as probe:
        tools = str(hanging_tool)
        probe.until(lambda: len(pids_with(tools)) >= 2)
        if how == "eof":
            assert probe.child.stdin is not None
            probe.child.stdin.close()
        elif how == "SIGTERM":
            probe.child.terminate()
        assert probe.process_ended(LEASE + 10)
        assert gone(lambda: pids_with(tools), 10)


@pytest.mark.skipif(sys.platform != "linux", reason="a signal at a parent's death is Linux's")
def test_a_tool_goes_even_when_the_probe_is_killed(hanging_tool: Path, tmp_path: Path) -> None:
    env = {"PATH": f"{hanging_tool}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env, facts_every=1) as probe:
        tool = f"{hanging_tool}/nvidia-smi"
        probe.until(lambda: pids_with(tool))
        probe.child.kill()
        assert gone(lambda: pids_with(tool), 10)


def test_a_new_probe_of_the_same_desk_ends_the_former_one(tmp_path: Path) -> None:
    mark = f"desk-{os.getpid()}"
    with direct_probe(tmp_path, desk=mark, arguments=("evalroom-probe", mark)) as former:
        other = ("evalroom-probe", f"{mark}-other")
        with (
            direct_probe(tmp_path, desk=other[1], arguments=other) as neighbour,
            direct_probe(tmp_path, desk=mark, arguments=("evalroom-probe", mark)) as new,
        ):
            assert former.process_ended(10)
            assert not neighbour.process_ended(0.2)
            assert not new.process_ended(0.2)


async def test_nothing_is_left_after_the_connection_was_cancelled(
    sshd: Sshd, tmp_path: Path
) -> None:
    connection = connection_of(machine_of(sshd), trusting(sshd, tmp_path))
    async with hearing(connection) as heard:
        pid = (await heard.hello()).head["pid"]
        assert alive(pid)
    assert await asyncio.to_thread(gone, lambda: [pid] if alive(pid) else [], 10.0)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
async def test_nothing_is_left_after_sshd_was_hit(sign: signal.Signals, tmp_path: Path) -> None:
    with running() as server:
        known = trusting(server, tmp_path)
        connection = connection_of(machine_of(server), known, lease=LEASE)
        async with hearing(connection) as heard:
            pid = (await heard.hello()).head["pid"]
            assert server.signal_sessions(sign) >= 1
            assert await asyncio.to_thread(gone, lambda: [pid] if alive(pid) else [], LEASE + 10)
            server.stop()
            if sign is signal.SIGKILL:
                await heard.link(LinkState.DOWN)


async def test_nothing_is_left_after_the_client_was_stopped(sshd: Sshd, tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom dataclasses import replace\n"
        "from tests.support.reached import MachineConfig, connection_of\n"
        "from core.frames import Frame\n"
        "async def main():\n"
        "    machine = MachineConfig(name='m', host='127.0.0.1', port=int(sys.argv[1]),\n"
        "        user='alice', identity=sys.argv[2], python='/usr/bin/python3')\n"
        "    def hear(heard):\n"
        "        if isinstance(heard, Frame) and heard.kind == 'hello':\n"
        "            print(heard.head['pid'], flush=True)\n"
        "    await connection_of(machine, Path(sys.argv[3]), lease=2.0).run(hear)\n"
        "asyncio.run(main())\n"
    )
    known = trusting(sshd, tmp_path)
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(sshd.port), str(sshd.key), str(known),
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."},
    )  # fmt: skip
    try:
        assert client.stdout is not None
        async with asyncio.timeout(15):
            pid = int(await client.stdout.readline())
        assert alive(pid)
        client.send_signal(signal.SIGSTOP)
        assert await asyncio.to_thread(gone, lambda: [pid] if alive(pid) else [], LEASE + 10)
    finally:
        client.kill()
        await client.wait()


@pytest.mark.slow
@pytest.mark.timeout(90)
async def test_the_real_lease_is_a_minute(tmp_path: Path) -> None:
    def check() -> None:
        with direct_probe(tmp_path, lease=600.0) as probe:  # longer is not given
            begun = time.monotonic()
            assert probe.process_ended(65)
            assert time.monotonic() - begun > 55

    await asyncio.to_thread(check)
