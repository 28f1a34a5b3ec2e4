"""Machines behind one jump host share one connection to it."""

import asyncio
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncssh
import pytest

from core.config.model import MachineConfig
from core.errors import LinkLost, MachineError
from core.ids import MachineName
from core.model.machine import LinkState
from core.model.question import Question
from ssh.links import jump_hosts
from ssh.links.asyncssh_auth import Credentials
from ssh.links.asyncssh_link import AsyncsshLink
from ssh.links.hop_login import Connected
from ssh.links.jump_hosts import JumpHosts, Seat, Way
from ssh.links.ssh_config import Hop, resolve_route
from tests.support.reached import HOMES_EVALS, PYTHON, connection_of
from tests.support.receiving import Receiver, receiving
from tests.support.sshd import Sshd, running
from tests.support.waiting import until

LOGINS = "Accepted publickey for alice"


@contextmanager
def gate_before(
    sshd: Sshd, folder: Path, more: str = "", options: str = ""
) -> Generator[tuple[Sshd, Path, list[MachineConfig]], None, None]:
    """Yield a jump host, a known_hosts file, and the machines gpu1 and gpu2 behind it."""
    with running(options=options) as gate:
        path = Path(os.environ["HOME"]) / ".ssh" / "config"
        path.write_text(
            f"Host gpu3\n  ProxyJump door\n"
            f"Host gpu*\n  Port {sshd.port}\n  User bob\n  IdentityFile {sshd.key}\n"
            f"  ProxyJump gate\nHost gate door\n  Port {gate.port}\n  User alice\n"
            f"  IdentityFile {gate.key}\n{more}\nHost *\n  HostName 127.0.0.1\n"
        )
        known = folder / "known"
        known.write_text(sshd.known_hosts_line() + gate.known_hosts_line())
        machines = [
            MachineConfig(
                name=MachineName(name), python=PYTHON, ssh_config=str(path), data_dir=HOMES_EVALS
            )
            for name in ("gpu1", "gpu2")
        ]
        yield gate, known, machines


async def hellos(received: Receiver, number: int) -> None:
    """Wait until so many probes have started."""
    await received.until(lambda: len(received.frames("hello")) >= number)


async def test_machines_behind_one_jump_host_share_one_connection_to_it(
    sshd: Sshd, tmp_path: Path
) -> None:
    with gate_before(sshd, tmp_path) as (gate, known, (one, two)):
        async with receiving(connection_of(one, known)) as first:
            async with receiving(connection_of(two, known)) as second:
                await first.hello()
                await second.hello()
                assert gate.log().count(LOGINS) == 1
            facts = len(first.frames("facts"))
            await first.until(lambda: len(first.frames("facts")) > facts + 1)
            assert first.state is LinkState.UP
            assert gate.sessions()
        await until(lambda: not gate.sessions(), "the last link closed the connection")
        assert gate.log().count(LOGINS) == 1


async def test_a_lost_jump_host_is_reached_again_by_one_login_for_all(
    sshd: Sshd, tmp_path: Path
) -> None:
    with gate_before(sshd, tmp_path) as (gate, known, machines):
        first, second = (connection_of(each, known) for each in machines)
        async with receiving(first) as one, receiving(second) as two:
            for each in (one, two):
                await each.hello()
            gate.signal_sessions(signal.SIGKILL)
            for each in (one, two):
                await hellos(each, 2)
            assert gate.log().count(LOGINS) == 2


async def test_a_jump_host_that_can_not_be_reached_is_named_for_each_machine(
    sshd: Sshd, tmp_path: Path
) -> None:
    with gate_before(sshd, tmp_path) as (gate, known, machines):
        gate.stop()
        first, second = (connection_of(each, known) for each in machines)
        async with receiving(first) as one, receiving(second) as two:
            for each in (one, two):
                down = await each.link(LinkState.DOWN)
                assert down.reason == (
                    "the jump host gate can't be reached: it refused the connection: no sshd "
                    "listens on that port"
                )
                assert "gate is up" in (down.advice or "")
                assert down.machine == each.connection.machine
            gate.start()
            first.retry_now()
            second.retry_now()
            for each in (one, two):
                await each.hello()
            assert gate.log().count(LOGINS) == 1


async def test_a_jump_host_that_is_back_for_one_machine_is_tried_at_once_for_the_others(
    sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST_BACKOFF_S", "MAX_BACKOFF_S"):  # none tries by itself
        monkeypatch.setattr(f"ssh.link_supervisor.{name}", 600.0)
    with gate_before(sshd, tmp_path) as (gate, known, machines):
        gate.stop()
        first, second = (connection_of(each, known) for each in machines)
        async with receiving(first) as one, receiving(second) as two:
            for each in (one, two):
                await each.link(LinkState.DOWN)
            gate.start()
            first.retry_now()
            await one.hello()
            await two.hello()
            assert gate.log().count(LOGINS) == 1


async def test_a_key_of_a_jump_host_is_accepted_once(sshd: Sshd, tmp_path: Path) -> None:
    with gate_before(sshd, tmp_path) as (gate, known, machines):
        known.write_text(sshd.known_hosts_line())
        first, second = (connection_of(each, known) for each in machines)
        async with receiving(first) as one, receiving(second) as two:
            asked = [await each.link(LinkState.NEEDS_TRUST) for each in (one, two)]
            first.accept_key(asked[0].fingerprint or "")
            for each in (one, two):
                await hellos(each, 1)
            assert gate.log().count(LOGINS) == 1


async def test_the_password_of_a_jump_host_is_asked_once(sshd: Sshd, tmp_path: Path) -> None:
    asked: list[str] = []

    async def answer(question: Question) -> str:
        asked.append(question.text)
        await asyncio.sleep(0)
        return "open sesame"

    with gate_before(sshd, tmp_path, "  PubkeyAuthentication no", "PasswordAuthentication yes") as (
        gate,
        known,
        machines,
    ):
        gate.set_password("alice", "open sesame")
        first, second = (connection_of(each, known, ask=answer) for each in machines)
        async with receiving(first) as one, receiving(second) as two:
            for each in (one, two):
                needs = await each.link(LinkState.NEEDS_YOU)
                assert (needs.reason or "").startswith("the jump host gate can't be reached: it ")
            first.retry_now()
            second.retry_now()
            for each in (one, two):
                await hellos(each, 1)
            gate.signal_sessions(signal.SIGKILL)
            for each in (one, two):
                await hellos(each, 2)
    assert len(asked) == 1
    assert asked[0].startswith("Password for alice@127.0.0.1")


async def test_a_jump_host_that_went_silent_for_all_gets_a_new_connection(
    sshd: Sshd, tmp_path: Path
) -> None:
    jumps = JumpHosts()
    with gate_before(sshd, tmp_path) as (gate, known, (one, two)):
        links = [
            AsyncsshLink(each, known_hosts=known, credentials=Credentials(), ask=None, jumps=jumps)
            for each in (one, two, one, two)
        ]
        try:
            for link in links[:2]:
                await link.open()
                await link.came_up()
            await links[0].went_silent()
            await links[2].open()
            assert gate.log().count(LOGINS) == 1
            await links[1].went_silent()
            await links[3].open()
            assert gate.log().count(LOGINS) == 2
        finally:
            for link in links:
                await link.close()
        await until(lambda: not gate.sessions(), "all connections are closed")


async def test_a_sign_in_at_a_jump_host_helps_every_machine_behind_it(
    sshd: Sshd, tmp_path: Path
) -> None:
    async def answer(question: Question) -> str:
        del question
        return "open sesame"

    more, options = "  PubkeyAuthentication no", "PasswordAuthentication yes"
    with gate_before(sshd, tmp_path, more, options) as (gate, known, machines):
        gate.set_password("alice", "open sesame")
        first, second = (connection_of(each, known, ask=answer) for each in machines)
        async with receiving(first) as one, receiving(second) as two:
            for each in (one, two):
                await each.link(LinkState.NEEDS_YOU)
            first.retry_now()
            for each in (one, two):
                await hellos(each, 1)
            assert gate.log().count("Accepted password for alice") == 1


@pytest.mark.parametrize("is_silent", [True, False])
async def test_a_failure_holds_for_all_machines_until_the_operator_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_silent: bool
) -> None:
    for name in ("FIRST_PAUSE_S", "LONGEST_PAUSE_S", "LONGEST_SILENT_PAUSE_S"):
        monkeypatch.setattr(jump_hosts, name, 600.0)
    path = tmp_path / "config"
    path.write_text("Host gpu1\n  ProxyJump a,b\n")
    machine = MachineConfig(name=MachineName("gpu1"), ssh_config=str(path))
    *route, _ = await resolve_route(machine)
    tries: list[str] = []

    async def fail(
        hop: Hop, before: asyncssh.SSHClientConnection | None, credentials: Credentials
    ) -> Connected:
        del before, credentials
        tries.append(hop.host.name)
        await asyncio.sleep(0)
        raise LinkLost(machine.name, "it is away", is_silent=is_silent)

    jumps = JumpHosts()

    async def failure(number: int) -> MachineError:
        way = Way(
            MachineName(f"gpu{number}"),
            tmp_path,
            fail,
            is_interactive=False,
            on_reached=tries.clear,
        )
        with pytest.raises(LinkLost, match="it is away") as raised:
            await jumps.join(tuple(route), way)
        return raised.value

    errors: list[MachineError] = []
    for _ in range(2):
        errors = await asyncio.gather(*(failure(number) for number in range(50)))
        assert [each.machine for each in errors] == [f"gpu{number}" for number in range(50)]
    assert tries == ["a"]
    jumps.try_again()
    await asyncio.gather(*(failure(number) for number in range(50)))
    assert tries == ["a", "a"]
    assert all(isinstance(each, LinkLost) and each.is_silent is is_silent for each in errors)


async def test_a_machine_that_reaches_its_jump_host_by_itself_is_not_told_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would count as help for its next failure, which lies behind that host."""
    monkeypatch.setattr(jump_hosts, "FIRST_PAUSE_S", 0.0)
    path = tmp_path / "config"
    path.write_text("Host gpu*\n  ProxyJump a\n")
    route = await resolve_route(MachineConfig(name=MachineName("gpu1"), ssh_config=str(path)))
    is_up, told, jumps = asyncio.Event(), list[str](), JumpHosts()
    connection: Any = SimpleNamespace(
        is_closed=lambda: False, close=lambda: None, wait_closed=partial(asyncio.sleep, 0)
    )

    async def login(
        hop: Hop, before: asyncssh.SSHClientConnection | None, credentials: Credentials
    ) -> Connected:
        del hop, before, credentials
        await asyncio.sleep(0)
        if not is_up.is_set():
            raise LinkLost(MachineName("gpu1"), "it is away")
        return Connected(connection, None)

    async def join(name: str) -> Seat:
        on_reached = partial(told.append, name)
        way = Way(MachineName(name), tmp_path, login, is_interactive=False, on_reached=on_reached)
        return (await jumps.join(route[:-1], way))[0]

    for name in ("gpu1", "gpu2", "gpu3"):
        with pytest.raises(LinkLost):
            await join(name)
    is_up.set()
    seats = await asyncio.gather(join("gpu1"), join("gpu2"))
    assert told == ["gpu3"]
    for seat in seats:
        await seat.close()


async def test_two_names_of_one_jump_host_are_one_host(sshd: Sshd, tmp_path: Path) -> None:
    with gate_before(sshd, tmp_path) as (gate, known, (one, _)):
        other = replace(one, name=MachineName("gpu3"))
        first, second = connection_of(one, known), connection_of(other, known)
        async with receiving(first) as received, receiving(second) as also:
            await received.hello()
            await also.hello()
            assert gate.log().count(LOGINS) == 1
