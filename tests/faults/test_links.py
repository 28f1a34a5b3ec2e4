"""Links that break: the messages, and how the links come back."""

import asyncio
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import LinkLost, LinkRefused, RequestFailed, TooBusy
from core.frames import Frame
from core.ids import MachineName
from core.model.machine import LinkState
from ssh.links.asyncssh_auth import Credentials
from ssh.links.asyncssh_link import AsyncsshLink
from ssh.links.command_link import CommandLink, shell_command
from tests.support.reached import connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd, free_port
from tests.support.waiting import WAIT_S, wait_until


async def test_sshd_that_stops_and_starts_comes_back_by_itself(
    own_sshd: Sshd, tmp_path: Path
) -> None:
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    async with receiving(connection) as received:
        await received.hello()
        own_sshd.stop()
        down = await received.link(LinkState.DOWN)
        assert down.reason
        assert down.retry_at is not None
        assert not connection.send(Frame("beat"))
        own_sshd.start()
        await received.until(lambda: len(received.frames("hello")) >= 2)
        assert received.state is LinkState.UP


async def test_it_is_back_at_once_when_asked(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.link_supervisor.FIRST_BACKOFF_S", 60.0)  # it would be long
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    async with receiving(connection) as received:
        await received.hello()
        own_sshd.stop()
        await received.until(
            lambda: (
                received.state is LinkState.DOWN
                and (received.links[-1].retry_at or 0) > time.time() + 35.0
            )
        )
        assert received.links[-1].reason
        own_sshd.start()
        connection.retry_now()
        await received.until(lambda: len(received.frames("hello")) >= 2)


async def test_a_restarted_listener_leaves_a_session_alone(own_sshd: Sshd, tmp_path: Path) -> None:
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    async with receiving(connection) as received:
        await received.hello()
        own_sshd.stop_listener()
        own_sshd.start()
        reply = await connection.request(Frame("facts"), deadline=WAIT_S)
        assert reply.body
        assert [link.state for link in received.links] == [LinkState.CONNECTING, LinkState.UP]


async def test_silence_is_lagging_and_then_down(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.link_supervisor.LAGGING_AFTER_S", 2.0)
    monkeypatch.setattr("ssh.link_supervisor.DOWN_AFTER_S", 4.0)
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path), lease=3.0)
    async with receiving(connection) as received:
        await received.hello()
        own_sshd.signal_sessions(signal.SIGSTOP)
        lagging = await received.link(LinkState.LAGGING)
        assert "no data" in (lagging.reason or "")
        await received.link(LinkState.DOWN)
        await received.until(lambda: len(received.frames("hello")) >= 2)


async def test_asking_while_it_lags_makes_a_fresh_connection_at_once(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.link_supervisor.LAGGING_AFTER_S", 2.0)
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path), lease=3.0)
    async with receiving(connection) as received:
        await received.hello()
        own_sshd.signal_sessions(signal.SIGSTOP)
        await received.link(LinkState.LAGGING)
        connection.retry_now()
        await received.until(lambda: len(received.frames("hello")) >= 2)


async def test_an_sshd_that_accepts_and_never_speaks_is_given_up(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.links.hop_login.LOGIN_TIMEOUT_S", 2.0)
    assert own_sshd.process is not None
    own_sshd.process.send_signal(signal.SIGSTOP)
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    async with receiving(connection) as received:
        down = await received.link(LinkState.DOWN)
        assert down.reason
        own_sshd.process.send_signal(signal.SIGCONT)
        await received.hello()


async def test_a_closed_port_differs_from_an_unknown_name(tmp_path: Path) -> None:
    machine = MachineConfig(
        name=MachineName("m"), host="127.0.0.1", port=free_port(), ssh_config="none"
    )
    async with receiving(connection_of(machine, tmp_path / "k")) as received:
        assert "no sshd listens" in ((await received.link(LinkState.DOWN)).reason or "")
    machine = replace(machine, host="nohost.invalid")
    async with receiving(connection_of(machine, tmp_path / "k")) as received:
        assert "not known" in ((await received.link(LinkState.DOWN)).reason or "")


async def test_requests_fail_when_their_link_is_lost(own_sshd: Sshd, tmp_path: Path) -> None:
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    with pytest.raises(RequestFailed, match="not sent"):
        await connection.request(Frame("facts"), deadline=1)
    async with receiving(connection) as received:
        await received.hello()
        own_sshd.signal_sessions(signal.SIGSTOP)
        asked = [
            asyncio.create_task(connection.request(Frame("facts"), deadline=WAIT_S))
            for _ in range(32)
        ]
        await asyncio.sleep(0)
        with pytest.raises(TooBusy):
            await connection.request(Frame("facts"), deadline=WAIT_S)
        own_sshd.stop()
        for task in asked:
            with pytest.raises(RequestFailed, match="lost"):
                await task


async def test_a_program_whose_connection_dies_has_no_exit_status(
    own_sshd: Sshd, tmp_path: Path
) -> None:
    link = AsyncsshLink(
        machine_of(own_sshd),
        known_hosts=trusting(own_sshd, tmp_path),
        credentials=Credentials(),
        ask=None,
    )
    await link.open()
    try:
        done = await link.start()
        await done.write(b"exit 7\n")
        assert await done.wait() == 7
        program = await link.start()
        await program.write(b"echo up; sleep 60\n")
        assert await program.read() == b"up\n"
        own_sshd.signal_sessions(signal.SIGKILL)
        assert await program.read() == b""
        assert await program.wait() is None
        with pytest.raises(LinkLost):
            await link.start()
    finally:
        await link.close()


async def test_no_more_than_four_programs_share_a_connection(
    own_sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.links.asyncssh_link.CHANNEL_TIMEOUT_S", 1.0)
    link = AsyncsshLink(
        machine_of(own_sshd),
        known_hosts=trusting(own_sshd, tmp_path),
        credentials=Credentials(),
        ask=None,
    )
    await link.open()
    try:
        programs = [await link.start() for _ in range(4)]
        with pytest.raises(TimeoutError):
            await link.start()
        await programs[0].close()
        await (await link.start()).close()
    finally:
        await link.close()


@pytest.mark.parametrize("options", ["MaxSessions 1", "AllowTcpForwarding no\nRekeyLimit 64K"])
async def test_a_strict_sshd_serves_a_probe(options: str, own_sshd: Sshd, tmp_path: Path) -> None:
    own_sshd.stop()
    own_sshd.options = options
    own_sshd.start()
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    async with receiving(connection) as received:
        await received.hello()
        for _ in range(3):
            assert (await connection.request(Frame("facts"), deadline=WAIT_S)).body


@pytest.mark.parametrize("options", ["MaxSessions 0", "ForceCommand internal-sftp"])
async def test_an_sshd_without_programs_says_so(
    options: str, own_sshd: Sshd, tmp_path: Path
) -> None:
    own_sshd.stop()
    own_sshd.options = options
    own_sshd.start()
    connection = connection_of(machine_of(own_sshd), trusting(own_sshd, tmp_path))
    async with receiving(connection) as received:
        await received.until(lambda: received.state in {LinkState.DOWN, LinkState.REFUSED})
        assert received.links[-1].reason


async def test_a_command_with_a_nul_never_starts() -> None:
    with pytest.raises(LinkRefused, match="NUL"):
        await CommandLink(MachineName("m"), ("ssh", "a\0b")).open()


def test_ssh_never_takes_the_terminal() -> None:
    assert shell_command(("ssh", "gpu")) == ("ssh", "-T", "-o", "BatchMode=yes", "gpu", "/bin/sh")
    assert shell_command(()) == ("/bin/sh",)
    assert shell_command(("sudo", "-u", "x")) == ("sudo", "-u", "x", "/bin/sh")


@pytest.mark.parametrize("is_behind", [False, True])
async def test_programs_beyond_maxsessions_get_a_connection_of_their_own(
    own_sshd: Sshd, tmp_path: Path, *, is_behind: bool
) -> None:
    own_sshd.stop()
    own_sshd.options = "MaxSessions 1"
    own_sshd.start()
    machine = machine_of(own_sshd)
    if is_behind:
        config = tmp_path / "config"
        relay = "exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3"
        config.write_text(f"Host *\nProxyCommand bash -c '{relay}'\n")
        machine = replace(machine, ssh_config=str(config))
    link = AsyncsshLink(
        machine, known_hosts=trusting(own_sshd, tmp_path), credentials=Credentials(), ask=None
    )
    try:
        await link.open()
        programs = [await link.start() for _ in range(3)]
        sessions = len(own_sshd.sessions())
        for number, program in enumerate(programs):
            await program.write(f"echo is-{number}\n".encode())
            assert await program.read() == f"is-{number}\n".encode()
        for program in programs:
            await program.close()
        await asyncio.to_thread(
            wait_until, lambda: len(own_sshd.sessions()) < sessions, "the extra connections end"
        )
        again = await link.start()
        await again.write(b"echo again\n")
        assert await again.read() == b"again\n"
        await again.close()
    finally:
        await link.close()
