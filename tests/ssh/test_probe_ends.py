"""The probe and its children never outlive the link."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.model.machine import LinkState
from tests.support.direct_probe import direct_probe
from tests.support.fake_eval import fake_eval, http
from tests.support.processes import lives, wait_gone, with_words
from tests.support.reached import connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd, running
from tests.support.waiting import WAIT_S, until, wait_until

LEASE = 2.0


async def gone(pid: int) -> None:
    """Wait until a process that was seen alive has ended."""
    await until(lambda: not lives(pid), f"the probe {pid} is gone")


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
    for pid in with_words(str(folder)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_the_end_of_its_input_ends_it(tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        assert probe.child.stdin is not None
        probe.child.stdin.close()
        assert probe.process_ended(30)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it(sign: signal.Signals, tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        probe.child.send_signal(sign)
        assert probe.process_ended(30)


def test_a_stop_ends_it_with_a_bye(tmp_path: Path) -> None:
    with direct_probe(tmp_path) as probe:
        probe.send("stop")
        assert probe.first("bye").head["reason"] == "stopped"
        assert probe.process_ended(30)


def test_without_a_beat_it_stops_asking_and_then_ends(tmp_path: Path) -> None:
    def serve(connection: object, _: str) -> bool:
        connection.sendall(http(b"[]"))  # type: ignore[attr-defined]
        return True

    with fake_eval(tmp_path, serve) as fake, direct_probe(tmp_path, lease=4.0) as probe:
        row = probe.process(fake.pid)
        place = {"pid": fake.pid, "start": row["start"]}
        probe.send("watch", **place, name="tasks", path="/tasks", every=0.2, as_of=None)

        def asks_again() -> bool:
            probe.send("beat")
            return len(fake.asked) >= 2

        wait_until(asks_again, "it asks again")
        begun = time.monotonic()
        probe.send("beat")
        assert probe.process_ended(40)
        ended = time.monotonic()
        assert ended - begun >= 3.5
        assert ended - fake.asked[-1][0] >= 1.0, "for the rest of its lease it asks nothing"


def test_beats_keep_it_alive(tmp_path: Path) -> None:
    with direct_probe(tmp_path, lease=4.0) as probe:
        for _ in range(20):
            probe.send("beat")
            time.sleep(0.3)
        probe.reply(probe.ask("get", pid=1, start="", path="/tasks"))
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
        assert probe.process_ended(LEASE + 30)


@pytest.mark.parametrize("how", ["eof", "lease", "SIGTERM"])
def test_a_hung_tool_and_its_children_go_with_it(
    how: str, hanging_tool: Path, tmp_path: Path
) -> None:
    env = {"PATH": f"{hanging_tool}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env, lease=LEASE, facts_every=1) as probe:
        tools = str(hanging_tool)
        probe.until(lambda: with_words(f"{tools}/asleep"))
        if how == "eof":
            assert probe.child.stdin is not None
            probe.child.stdin.close()
        elif how == "SIGTERM":
            probe.child.terminate()
        assert probe.process_ended(LEASE + 30)
        wait_gone(lambda: with_words(tools), "the tools are")


@pytest.mark.skipif(sys.platform != "linux", reason="a signal at a parent's death is Linux's")
def test_a_tool_goes_even_when_the_probe_is_killed(hanging_tool: Path, tmp_path: Path) -> None:
    env = {"PATH": f"{hanging_tool}:{os.environ['PATH']}"}
    with direct_probe(tmp_path, env=env, facts_every=1) as probe:
        tool = f"{hanging_tool}/nvidia-smi"
        probe.until(lambda: with_words(tool))
        probe.child.kill()
        wait_gone(lambda: with_words(tool), "the tool is")


def test_a_new_probe_of_the_same_desk_ends_the_former_one(tmp_path: Path) -> None:
    mark = f"desk-{os.getpid()}"
    with direct_probe(tmp_path, desk=mark, arguments=("evalroom-probe", mark)) as former:
        other = ("evalroom-probe", f"{mark}-other")
        with (
            direct_probe(tmp_path, desk=other[1], arguments=other) as neighbour,
            direct_probe(tmp_path, desk=mark, arguments=("evalroom-probe", mark)) as new,
        ):
            assert former.process_ended(30)
            # The new one ends the others before it greets: whom it spared, it will spare.
            new.first("hello")
            for each in (neighbour, new):
                frames = len(each.frames)
                each.send("beat")
                each.reply(each.ask("get", pid=1, start="", path="/tasks"))
                assert len(each.frames) > frames


async def test_nothing_is_left_after_the_connection_was_cancelled(
    sshd: Sshd, tmp_path: Path
) -> None:
    connection = connection_of(machine_of(sshd), trusting(sshd, tmp_path))
    async with receiving(connection) as received:
        pid = (await received.hello()).head["pid"]
        assert lives(pid)
    await gone(pid)


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
async def test_nothing_is_left_after_sshd_was_hit(sign: signal.Signals, tmp_path: Path) -> None:
    with running() as server:
        known = trusting(server, tmp_path)
        connection = connection_of(machine_of(server), known, lease=LEASE)
        async with receiving(connection) as received:
            pid = (await received.hello()).head["pid"]
            assert lives(pid)
            assert server.signal_sessions(sign) >= 1
            await gone(pid)
            server.stop()
            if sign is signal.SIGKILL:
                await received.link(LinkState.DOWN)


async def test_nothing_is_left_after_the_client_was_stopped(sshd: Sshd, tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom dataclasses import replace\n"
        "from tests.support.reached import MachineConfig, connection_of\n"
        "from core.frames import Frame\n"
        "async def main():\n"
        "    machine = MachineConfig(name='m', host='127.0.0.1', port=int(sys.argv[1]),\n"
        "        user='alice', identity=sys.argv[2], python='/usr/bin/python3')\n"
        "    def receive(received):\n"
        "        if isinstance(received, Frame) and received.kind == 'hello':\n"
        "            print(received.head['pid'], flush=True)\n"
        "    await connection_of(machine, Path(sys.argv[3]), lease=2.0).run(receive)\n"
        "asyncio.run(main())\n"
    )
    known = trusting(sshd, tmp_path)
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(sshd.port), str(sshd.key), str(known),
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."},
    )  # fmt: skip
    try:
        assert client.stdout is not None
        async with asyncio.timeout(WAIT_S):
            pid = int(await client.stdout.readline())
        assert lives(pid)
        client.send_signal(signal.SIGSTOP)
        await gone(pid)
    finally:
        client.kill()
        await client.wait()


@pytest.mark.slow
async def test_the_real_lease_is_a_minute(tmp_path: Path) -> None:
    def check() -> None:
        with direct_probe(tmp_path, lease=600.0) as probe:  # longer is not given
            begun = time.monotonic()
            assert probe.process_ended(65)
            assert time.monotonic() - begun > 55

    await asyncio.to_thread(check)
