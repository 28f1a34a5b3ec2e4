"""Logging in with a real ssh-agent: which one, inside a real tmux too, in which order, again."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cli.commands.attach import environment_to_attach
from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.machine import LinkState
from core.model.question import Question
from ssh.links import agent as agents
from ssh.links.asyncssh_auth import Credentials
from ssh.links.asyncssh_link import AsyncsshLink
from ssh.links.sign_in import sign_in_for
from tests.support.reached import PYTHON, connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd, keygen, running
from tests.support.tmux import Tmux
from tests.support.waiting import wait_until

StartAgent = Callable[..., Path]


@pytest.fixture(autouse=True)
def _quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "POLL_EVERY_S", 0.2)
    monkeypatch.delenv("TMUX", raising=False)


@pytest.fixture
def start_agent(tmp_path: Path) -> Iterator[StartAgent]:
    """Start an agent that holds some keys."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *keys: Path) -> Path:
        path = tmp_path / name
        process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
        started.append(process)
        wait_until(path.exists, "the agent listens")
        add(path, *keys)
        return path

    yield start
    for process in started:
        process.terminate()
        process.wait()


def add(path: Path, *keys: Path) -> None:
    """Give an agent more keys."""
    for key in keys:
        env = {**os.environ, "SSH_AUTH_SOCK": str(path)}
        subprocess.run(["ssh-add", "-q", str(key)], env=env, check=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tmux]:
    """A tmux that this process runs in, as far as tmux and evalroom can tell."""
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here")
    server = Tmux(tmp_path / "tmux")
    server.run("new-session", "-d", "-s", "room", "cat")
    pid = server.run("display-message", "-p", "#{pid}").strip()
    monkeypatch.setenv("TMUX", f"{server.socket},{pid},0")
    monkeypatch.setenv("TMUX_PANE", server.run("display-message", "-p", "#{pane_id}").strip())
    yield server
    server.run("kill-server")


def by_agent(sshd: Sshd) -> MachineConfig:
    """A machine that only an agent's key opens."""
    return replace(machine_of(sshd), identity=None)


async def test_tmux_knows_the_agent_of_the_present_login(
    sshd: Sshd, tmp_path: Path, tmux: Tmux, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "of-an-ended-login"))
    tmux.run("set-environment", "SSH_AUTH_SOCK", str(start_agent("new", sshd.key)))
    async with receiving(connection_of(by_agent(sshd), trusting(sshd, tmp_path))) as received:
        await received.hello()


async def test_a_command_that_attaches_gets_the_agent_of_the_present_login(
    sshd: Sshd, tmp_path: Path, tmux: Tmux, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "of-an-ended-login"))
    agent = str(start_agent("new", sshd.key))
    tmux.run("set-environment", "SSH_AUTH_SOCK", agent)
    environment = await environment_to_attach()
    assert environment["SSH_AUTH_SOCK"] == agent
    assert not {"TMUX", "TMUX_PANE"} & set(environment)


async def test_a_new_login_is_noticed_and_the_old_socket_named(
    sshd: Sshd, tmp_path: Path, tmux: Tmux, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "of-an-ended-login"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(old))
    tmux.run("set-environment", "SSH_AUTH_SOCK", str(old))
    async with receiving(connection_of(by_agent(sshd), trusting(sshd, tmp_path))) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert f"no ssh agent answers at {old}" in (needs.reason or "")
        tmux.run("set-environment", "SSH_AUTH_SOCK", str(start_agent("new", sshd.key)))
        await received.until(lambda: bool(received.frames("hello")))


async def test_a_command_link_uses_the_agent_of_the_present_login(
    sshd: Sshd, tmp_path: Path, tmux: Tmux, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "of-an-ended-login"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(old))
    command = (
        "ssh", "-F", "none", "-p", str(sshd.port), "-o", "IdentityFile=none",
        "-o", f"UserKnownHostsFile={trusting(sshd, tmp_path)}", "alice@127.0.0.1",
    )  # fmt: skip
    machine = MachineConfig(name=MachineName("far"), link="command", command=command, python=PYTHON)
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert f"no ssh agent answers at {old}" in (needs.reason or "")
        tmux.run("set-environment", "SSH_AUTH_SOCK", str(start_agent("new", sshd.key)))
        await received.until(lambda: bool(received.frames("hello")))


async def test_signing_in_uses_the_agent_of_the_present_login(
    tmp_path: Path, tmux: Tmux, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "of-an-ended-login"))
    path = start_agent("new", keygen(tmp_path / "key"))
    tmux.run("set-environment", "SSH_AUTH_SOCK", str(path))
    found = await sign_in_for(("ssh", "-F", "none", "far"))
    assert found is not None
    assert found.words[:3] == ("env", f"SSH_AUTH_SOCK={path}", "ssh")
    assert found.program == "ssh"


async def test_an_agent_gets_a_key_and_the_link_comes_up(
    sshd: Sshd, tmp_path: Path, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = start_agent("agent")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    async with receiving(connection_of(by_agent(sshd), trusting(sshd, tmp_path))) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert f"the ssh agent at {path} holds no keys" in (needs.reason or "")
        add(path, sshd.key)
        await received.until(lambda: bool(received.frames("hello")))


async def test_the_same_keys_are_tried_once(
    sshd: Sshd, tmp_path: Path, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = start_agent("agent", keygen(tmp_path / "wrong"))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    looks = 0
    present_agent = agents.present_agent

    async def counted(identity_agent: str | None) -> agents.AgentState:
        nonlocal looks
        looks += 1
        return await present_agent(identity_agent)

    monkeypatch.setattr(agents, "present_agent", counted)
    before = sshd.log().count("Connection from")
    async with receiving(connection_of(by_agent(sshd), trusting(sshd, tmp_path))) as received:
        await received.link(LinkState.NEEDS_YOU)
        await received.until(lambda: looks > 4)
        assert received.state is LinkState.NEEDS_YOU
        assert sshd.log().count("Connection from") == before + 1


@pytest.mark.parametrize(
    ("option", "is_up"),
    [("none", False), ("$MY_AGENT", True), ("{path}", True), ("SSH_AUTH_SOCK", False)],
)
async def test_the_agent_of_ssh_config_wins(  # noqa: PLR0917 - pytest passes them by name
    option: str,
    is_up: bool,
    sshd: Sshd,
    tmp_path: Path,
    start_agent: StartAgent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = start_agent("agent", sshd.key)
    monkeypatch.setenv("MY_AGENT", str(path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(start_agent("empty") if is_up else tmp_path / "gone"))
    config = tmp_path / "config"
    config.write_text(f"IdentityAgent {option.format(path=path)}\n")
    machine = replace(by_agent(sshd), ssh_config=str(config))
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        await received.link(LinkState.UP if is_up else LinkState.NEEDS_YOU)


async def test_a_named_key_of_the_agent_goes_first(
    tmp_path: Path, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(options="MaxAuthTries 2") as server:
        others = [keygen(tmp_path / f"k{n}") for n in range(4)]
        monkeypatch.setenv("SSH_AUTH_SOCK", str(start_agent("agent", *others, server.key)))
        config = tmp_path / "config"
        public = shutil.copy(f"{server.key}.pub", tmp_path / "only.pub")
        config.write_text(f"IdentityFile {public}\n")
        machine = replace(by_agent(server), ssh_config=str(config))
        async with receiving(connection_of(machine, trusting(server, tmp_path))) as received:
            await received.hello()


async def test_a_locked_key_that_the_agent_holds_is_not_asked_for(
    sshd: Sshd, tmp_path: Path, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = start_agent("agent")
    helper = tmp_path / "askpass"
    helper.write_text("#!/bin/sh\necho open sesame\n")
    helper.chmod(0o700)
    monkeypatch.setenv("SSH_ASKPASS", str(helper))
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    add(path, sshd.locked_key)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    asked: list[str] = []

    async def ask(question: Question) -> str | None:
        asked.append(question.text)
        return None

    link = AsyncsshLink(
        replace(machine_of(sshd), identity=str(sshd.locked_key)),
        known_hosts=trusting(sshd, tmp_path),
        credentials=Credentials(),
        ask=ask,
    )
    await link.open()
    await link.close()
    assert asked == []


@pytest.fixture
def certified(tmp_path: Path) -> Path:
    """A key whose certificate lies elsewhere; `ca.pub` signed it."""
    authority, key = keygen(tmp_path / "ca"), keygen(tmp_path / "key")
    words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", "alice", f"{key}.pub"]
    subprocess.run(words, check=True)
    (tmp_path / "key-cert.pub").rename(tmp_path / "elsewhere.pub")
    return key


async def test_a_certificate_goes_with_the_agents_key(
    certified: Path, tmp_path: Path, start_agent: StartAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text(f"CertificateFile {tmp_path}/elsewhere.pub\n")
    with running(options=f"TrustedUserCAKeys {tmp_path}/ca.pub") as server:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(start_agent("agent", certified)))
        machine = replace(by_agent(server), ssh_config=str(config))
        async with receiving(connection_of(machine, trusting(server, tmp_path))) as received:
            await received.hello()
