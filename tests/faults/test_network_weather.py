"""Thin, slow and dead networks: a machine is linked as soon as its network allows it."""

import asyncio
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import MachineName
from core.model.machine import LinkState
from tests.support.evals import short_folder
from tests.support.fake_eval import fake_eval, says
from tests.support.network_weather import Weather, weather_before
from tests.support.reached import PYTHON, connection_of, machine_of
from tests.support.receiving import Receiver, receiving
from tests.support.sshd import Sshd, running
from tests.support.waiting import until

KBIT = 1000 / 8
BACK_WITHIN_S = 10.0
MASTER_OPTIONS = ("-o", "ServerAliveInterval=0", "-o", "ControlPersist=yes", "-M", "-N", "-f")


def through(weather: Weather, sshd: Sshd, folder: Path) -> tuple[MachineConfig, Path]:
    """The machine behind the weather, and a known_hosts that knows it."""
    known = folder / "known_hosts"
    known.write_text(sshd.known_hosts_line().replace(str(sshd.port), str(weather.port)))
    return replace(machine_of(sshd), port=weather.port), known


def commands_through(weather: Weather, sshd: Sshd, folder: Path) -> tuple[str, ...]:
    """The ssh command that reaches the machine through the weather, with a ControlPath."""
    _, known = through(weather, sshd, folder)
    return (
        "ssh", "-F", "none", "-p", str(weather.port), "-i", str(sshd.key),
        "-o", f"UserKnownHostsFile={known}", "-o", f"ControlPath={folder}/m", "alice@127.0.0.1",
    )  # fmt: skip


async def is_polled_again(received: Receiver, healed_at: float) -> None:
    """Wait for facts of the machine that were read after the network healed."""

    def polled() -> bool:
        return any(frame.head.get("at", 0) > healed_at for frame in received.frames("beat"))

    await received.until(polled)
    assert time.time() - healed_at < BACK_WITHIN_S


@pytest.mark.parametrize("link", ["asyncssh", "command"])
async def test_a_machine_behind_64_kbit_is_linked_at_the_first_try(
    link: str, own_sshd: Sshd, tmp_path: Path
) -> None:
    async with weather_before(own_sshd.port) as weather:
        weather.rate, weather.delay = 64 * KBIT, 0.15
        machine, known = through(weather, own_sshd, tmp_path)
        if link == "command":
            command = commands_through(weather, own_sshd, tmp_path)
            machine = MachineConfig(
                name=MachineName("thin"), link="command", command=command, python=PYTHON
            )
        async with receiving(connection_of(machine, known)) as received:
            await received.hello()
            assert [each.state for each in received.links] == [LinkState.CONNECTING, LinkState.UP]
            assert weather.connections == 1


async def test_on_a_thin_link_rows_come_before_the_second_part_of_the_probe() -> None:
    with short_folder() as folder, running(is_inside=True) as sshd:
        log = folder / "a.eval"
        log.write_text("text")
        async with weather_before(sshd.port) as weather:
            weather.rate, weather.delay = 64 * KBIT, 0.15
            machine, known = through(weather, sshd, folder)
            machine = replace(machine, user="root", data_dir=str(folder))
            with fake_eval(folder, says([])) as fake:
                async with receiving(connection_of(machine, known)) as received:
                    await received.hello(60)
                    weather.rate = 8 * KBIT  # a slow computer has time for its rows, too
                    asked = Frame("logs", {"asked": {"what": "file", "log": str(log), "bytes": 9}})
                    copy = asyncio.create_task(received.connection.request(asked, deadline=60))
                    await received.until(lambda: bool(received.processes()), 60)
                    row = {"pid": fake.pid, "start": received.processes()[0]["start"]}
                    tasks = {"name": "tasks", "path": "/tasks", "every": 5, "as_of": None}
                    assert received.connection.send(Frame("watch", {**row, **tasks}))
                    await received.until(lambda: bool(received.frames("answer")), 60)
                    assert not received.frames("facts")
                    assert not copy.done()
                    weather.rate = 64 * KBIT
                    assert (await copy).body == b"text"
                    await received.until(lambda: bool(received.frames("facts")), 60)
                    states = [each.state for each in received.links]
                    assert states == [LinkState.CONNECTING, LinkState.UP]


async def test_a_link_that_dies_before_the_second_part_came_is_back_with_all_of_it(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.link_supervisor.LAGGING_AFTER_S", 4.0)
    monkeypatch.setattr("ssh.link_supervisor.DOWN_AFTER_S", 8.0)  # a probe beats every 5 s
    monkeypatch.setattr("ssh.second_part.FIRST_PIECE_BYTES", 256)
    monkeypatch.setattr("ssh.second_part.MAX_PIECE_BYTES", 1024)
    async with weather_before(own_sshd.port) as weather:
        machine, known = through(weather, own_sshd, tmp_path)
        async with receiving(connection_of(machine, known, lease=5.0)) as received:
            weather.delay = 0.15
            await received.hello(60)
            weather.darken()
            await received.link(LinkState.DOWN)
            assert not received.frames("facts")
            weather.delay = 0.0
            weather.clear()
            await received.until(lambda: bool(received.frames("facts")), 60)
            assert len(received.frames("hello")) == 2


@pytest.mark.parametrize(
    ("dark", "tries"),
    [
        ({"out", "back"}, 1),
        pytest.param({"out", "back"}, 8, marks=pytest.mark.slow),
        pytest.param({"out"}, 4, marks=pytest.mark.slow),
        pytest.param({"back"}, 4, marks=pytest.mark.slow),
    ],
)
async def test_a_poll_comes_soon_after_a_network_heals(
    dark: set[str],
    tries: int,
    own_sshd: Sshd,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ssh.link_supervisor.LAGGING_AFTER_S", 2.0)
    monkeypatch.setattr("ssh.link_supervisor.DOWN_AFTER_S", 4.0)
    monkeypatch.setattr("ssh.links.hop_login.LOGIN_TIMEOUT_S", 3.0)
    async with weather_before(own_sshd.port) as weather:
        machine, known = through(weather, own_sshd, tmp_path)
        async with receiving(connection_of(machine, known, lease=5.0)) as received:
            await received.hello()
            weather.darken(out="out" in dark, back="back" in dark)
            await received.link(LinkState.DOWN)
            downs = len(received.links)
            await received.until(lambda: len(received.links) >= downs + tries)
            healed_at = time.time()
            weather.clear()
            await is_polled_again(received, healed_at)


@pytest.mark.slow
async def test_a_dead_network_fills_no_control_master(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.link_supervisor.LAGGING_AFTER_S", 2.0)
    monkeypatch.setattr("ssh.link_supervisor.DOWN_AFTER_S", 4.0)
    monkeypatch.setattr("ssh.handshake.READY_TIMEOUT_S", 0.5)
    monkeypatch.setattr("ssh.handshake.LAST_READY_TIMEOUT_S", 1.0)
    monkeypatch.setattr("ssh.links.command_link.LOGIN_TIMEOUT_S", 4.0)
    async with weather_before(own_sshd.port) as weather:
        command = commands_through(weather, own_sshd, tmp_path)
        opened = await asyncio.create_subprocess_exec(command[0], *MASTER_OPTIONS, *command[1:])
        assert await opened.wait() == 0
        master = await _master_pid(command)
        before = len(os.listdir(f"/proc/{master}/fd"))  # noqa: PTH208
        machine = MachineConfig(
            name=MachineName("far"), link="command", command=command, python=PYTHON
        )
        try:
            async with receiving(
                connection_of(machine, tmp_path / "unused", lease=5.0)
            ) as received:
                await received.hello()
                assert weather.connections == 1, "the link uses the operator's master"
                weather.darken()
                await received.link(LinkState.DOWN)
                await received.until(
                    lambda: sum(each.state is LinkState.DOWN for each in received.links) >= 4
                )
                most = before + 2 * 4  # the former session, and one try in it
                assert len(os.listdir(f"/proc/{master}/fd")) <= most  # noqa: PTH208
                for each in received.links:
                    assert "rc files" not in (each.advice or "")
                healed_at = time.time()
                weather.clear()
                await is_polled_again(received, healed_at)
                await until(
                    lambda: not Path(f"{tmp_path}/m").exists(),
                    "the silent master takes no more sessions",
                )
        finally:
            subprocess.run(["kill", str(master)], check=False)  # noqa: ASYNC221


async def _master_pid(command: tuple[str, ...]) -> int:
    asked = await asyncio.create_subprocess_exec(
        command[0], "-O", "check", *command[1:], stderr=asyncio.subprocess.PIPE
    )
    _, err = await asked.communicate()
    return int(err.decode().split("pid=")[1].split(")")[0])
