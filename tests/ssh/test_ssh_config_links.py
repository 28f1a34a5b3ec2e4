"""Links that follow ssh_config: the right host, jump hosts, a ProxyCommand, refusals."""

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import LinkLost, LinkRefused
from core.ids import MachineName
from core.model.machine import LinkState
from ssh.links import ssh_query
from ssh.links.proxy_command import ProxyProcess
from ssh.links.ssh_config import jump_destination, resolve_route
from tests.support.processes import lives, with_words
from tests.support.reached import PYTHON, connection_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd, keygen, running
from tests.support.waiting import until

RELAY = """#!/usr/bin/python3
import os, selectors, socket, sys
print("relay", *sys.argv[1:], file=sys.stderr, flush=True)
far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
ways = selectors.DefaultSelector()
ways.register(0, 1, far.sendall)
ways.register(far, 1, lambda data: os.write(1, data))
while True:
    for key, _ in ways.select():
        data = os.read(key.fd, 65536)
        if not data:
            sys.exit(0)
        key.data(data)
"""


def machine_with(text: str, name: str = "gpu1") -> MachineConfig:
    """Write a config for ssh and return a machine that is resolved by it."""
    path = Path(os.environ["HOME"]) / ".ssh" / "config"
    path.write_text(text)
    return MachineConfig(name=MachineName(name), python=PYTHON, ssh_config=str(path))


async def test_a_comment_after_host_names_no_host() -> None:
    machine = machine_with("Host gpu2    # was gpu1\n  HostName 10.0.0.2\n  User eve\n")
    (hop,) = await resolve_route(machine)
    assert hop.host.host == "gpu1"
    (hop,) = await resolve_route(replace(machine, name=MachineName("gpu2")))
    assert (hop.host.host, hop.host.user) == ("10.0.0.2", "eve")


async def test_without_ssh_the_same_hosts_are_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_with(
        "Host gpu1\n  HostName h\n  ProxyJump me@j:33,k # both\n"
        "Host k\n  User kay\nMatch host j\n  HostName jay\n  IdentityFile ~/%r\n"
    )
    by_ssh = [hop.host for hop in await resolve_route(machine)]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("ssh") is None
    assert [hop.host for hop in await resolve_route(machine)] == by_ssh
    assert [(host.host, host.user, host.port) for host in by_ssh][:2] == [
        ("jay", "me", 33), ("k", "kay", 22),
    ]  # fmt: skip


async def test_a_jump_host_keeps_its_own_jump_only_where_it_is_the_first() -> None:
    machine = machine_with(
        "Host gpu1\n  ProxyJump b\nHost gpu2\n  ProxyJump a,b\nHost b\n  ProxyJump c\n"
    )
    assert [hop.host.name for hop in await resolve_route(machine)] == ["c", "b", "gpu1"]
    machine = replace(machine, name=MachineName("gpu2"))
    assert [hop.host.name for hop in await resolve_route(machine)] == ["a", "b", "gpu2"]


async def test_a_canonical_name_that_does_not_resolve_is_tried_again() -> None:
    machine = machine_with(
        "CanonicalizeHostname yes\nCanonicalizeFallbackLocal no\nCanonicalDomains x.invalid\n"
    )
    with pytest.raises(LinkLost, match="Could not resolve"):
        await resolve_route(machine)


async def test_jumps_in_a_circle_are_refused() -> None:
    machine = machine_with("Host gpu1\n  ProxyJump b\nHost b\n  ProxyJump gpu1\n")
    with pytest.raises(LinkRefused, match="circle"):
        await resolve_route(machine)


@pytest.mark.parametrize(
    ("text", "name", "user", "port"),
    [
        ("h", "h", None, None),
        ("me@h:33", "h", "me", 33),
        ("ssh://u@h:44/", "h", "u", 44),
        ("[::1]:55", "::1", None, 55),
        ("a@b@h", "h", "a@b", None),
    ],
)
def test_a_jump_is_written_in_several_ways(
    text: str, name: str, user: str | None, port: int | None
) -> None:
    found = jump_destination(text)
    assert (found.name, found.user, found.port) == (name, user, port)


async def test_an_option_that_can_not_be_followed_refuses_that_machine_with_its_line() -> None:
    machine = machine_with(
        "Host gpu1\n  Port 2222\n  RevokedHostKeys /etc/revoked\nHost gpu2\n  HostName h\n"
    )
    machine = replace(machine, user="op", identity="/k")
    with pytest.raises(LinkRefused) as refused:
        await resolve_route(machine)
    assert f"RevokedHostKeys ({machine.ssh_config} line 3)" in refused.value.message
    assert f'["ssh", "-F", "{machine.ssh_config}", "-l", "op", "-i", "/k", "gpu1"]' in (
        refused.value.advice
    )
    assert refused.value.advice.endswith("in place of host, user, identity, ssh_config")
    (hop,) = await resolve_route(replace(machine, name=MachineName("gpu2")))
    assert hop.host.host == "h"


async def test_options_of_people_change_no_link() -> None:
    machine = machine_with(
        "Host *\n  RemoteCommand top\n  RequestTTY force\n  LocalForward 9 h:9\n  ForwardX11 yes\n"
        "  GSSAPIAuthentication yes\n  LogLevel DEBUG\n  ForwardAgent yes\n"
    )
    (hop,) = await resolve_route(machine)
    assert hop.advice(machine) is None


async def test_a_match_exec_that_hangs_is_ended_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_query, "QUERY_TIMEOUT_S", 2.0)
    pid = tmp_path / "pid"
    machine = machine_with(f'Match exec "echo $$ > {pid}; exec sleep 60"\n  User no\n')
    with pytest.raises(LinkLost, match="did not answer"):
        await resolve_route(machine)
    sleeping = int(pid.read_text())
    await until(lambda: not lives(sleeping), "the program of Match exec is ended")


def host_of(sshd: Sshd, name: str, user: str, more: str = "") -> str:
    return (
        f"Host {name}\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User {user}\n"
        f"  IdentityFile {sshd.key}\n{more}"
    )


async def test_a_machine_behind_a_jump_host_is_reached(sshd: Sshd, tmp_path: Path) -> None:
    machine = machine_with(
        host_of(sshd, "gpu1", "bob", "  ProxyJump gate # by the gate\n")
        + host_of(sshd, "gate", "alice")
    )
    before = sshd.log().count("Accepted publickey for alice")
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        assert (await received.hello()).head["user"] == "bob"
    assert sshd.log().count("Accepted publickey for alice") == before + 1


async def test_the_unknown_key_of_a_jump_host_can_be_accepted(sshd: Sshd, tmp_path: Path) -> None:
    machine = machine_with(
        host_of(sshd, "gpu1", "bob", "  ProxyJump gate\n  HostKeyAlias far\n")
        + host_of(sshd, "gate", "alice", "  HostKeyAlias near\n")
    )
    connection = connection_of(machine, tmp_path / "own")
    async with receiving(connection) as received:
        needs = await received.link(LinkState.NEEDS_TRUST)
        assert "the jump host 127.0.0.1" in (needs.reason or "")
        connection.accept_key(needs.fingerprint or "")
        await received.until(lambda: received.state is not LinkState.NEEDS_TRUST)
        needs = await received.link(LinkState.NEEDS_TRUST)
        connection.accept_key(needs.fingerprint or "")
        await received.until(lambda: bool(received.frames("hello")))
        assert received.frames("hello")[-1].head["user"] == "bob"
    names = [line.split()[0] for line in (tmp_path / "own").read_text().splitlines()]
    assert names == ["near", "far"]


@pytest.mark.parametrize("tail", ["2>/dev/null", "", "2>>$HOME/relay.log"])
async def test_a_proxy_command_runs_by_the_shell_as_in_ssh(
    tail: str, sshd: Sshd, tmp_path: Path
) -> None:
    relay = Path(os.environ["HOME"]) / "bin" / "p.sh"
    relay.parent.mkdir()
    relay.write_text(RELAY)
    relay.chmod(0o755)
    machine = machine_with(
        host_of(sshd, "gpu1", "bob", f"  ProxyCommand ~/bin/p.sh %h %p {tail}\n")
    )
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        assert (await received.hello()).head["user"] == "bob"
        await received.until(lambda: bool(received.frames("facts")))


async def test_a_proxy_command_that_fails_says_why(sshd: Sshd, tmp_path: Path) -> None:
    machine = machine_with(
        host_of(sshd, "gpu1", "bob", "  ProxyCommand echo no badge >&2; exit 3\n")
    )
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        down = await received.link(LinkState.DOWN)
        assert "ProxyCommand" in (down.reason or "")
        assert "no badge" in (down.reason or "")
        assert "check ProxyCommand of gpu1" in (down.advice or "")


async def test_a_proxy_command_ends_with_its_link(sshd: Sshd, tmp_path: Path) -> None:
    pid, sleep = tmp_path / "pid", f"sleep 300.{os.getpid()}1"
    machine = machine_with(
        host_of(sshd, "gpu1", "bob", f"  ProxyCommand sh -c 'echo $$ >{pid}; {sleep}'\n")
    )
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        await received.until(lambda: pid.exists() and bool(pid.read_text().strip()))
    shell = int(pid.read_text())
    await until(lambda: not lives(shell) and not with_words(sleep), "all of it ended")


async def test_a_proxy_command_that_is_given_up_while_it_starts_leaves_nothing() -> None:
    sleep = f"sleep 300.{os.getpid()}2"
    command = f"sh -c 'true; {sleep}; true'"
    for _ in range(5):
        starting = asyncio.create_task(ProxyProcess.start(command, os.environ))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    await until(lambda: not with_words(sleep), "nothing is left")


async def test_a_named_key_that_is_missing_is_skipped(sshd: Sshd, tmp_path: Path) -> None:
    machine = machine_with(
        f"Host gpu1\n  IdentityFile {tmp_path}/gone\n" + host_of(sshd, "gpu1", "bob")
    )
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        assert (await received.hello()).head["user"] == "bob"


async def test_a_login_that_fails_names_the_key_that_is_missing(sshd: Sshd, tmp_path: Path) -> None:
    wrong = keygen(tmp_path / "wrong")
    text = host_of(sshd, "gpu1", "dashy").replace(str(sshd.key), str(wrong))
    machine = machine_with(f"Host gpu1\n  IdentityFile {tmp_path}/gone\n{text}")
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert f"{tmp_path}/gone does not exist" in (needs.reason or "")


async def test_algorithms_of_ssh_config_are_used(tmp_path: Path) -> None:
    with running(options="Ciphers aes256-ctr") as server:
        known = trusting(server, tmp_path)
        machine = machine_with(host_of(server, "gpu1", "bob", "  Ciphers aes128-ctr\n"))
        async with receiving(connection_of(machine, known)) as received:
            refused = await received.link(LinkState.REFUSED)
            assert "encryption" in (refused.reason or "")
        text = "  Ciphers aes128-ctr,aes256-ctr\n  MACs +hmac-sha1\n  Compression yes\n"
        machine = machine_with(host_of(server, "gpu1", "bob", text))
        async with receiving(connection_of(machine, known)) as received:
            await received.hello()
