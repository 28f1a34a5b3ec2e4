"""Logging in: keys, passphrases, the agent, ssh_config; and never twice by itself."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from core.config.model import MachineConfig
from core.errors import NeedsYou
from core.ids import MachineName
from core.model.machine import LinkState
from core.model.question import Question
from ssh.links.asyncssh_auth import Credentials
from ssh.links.asyncssh_link import AsyncsshLink
from ssh.links.ssh_config import resolve_route
from tests.support.reached import PYTHON, connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd, keygen, prepared
from tests.support.waiting import wait_until


def ssh_config(text: str) -> str:
    """Write a config for ssh and return its path."""
    path = Path(os.environ["HOME"]) / ".ssh" / "config"
    path.write_text(text)
    return str(path)


async def test_a_wrong_key_needs_you_and_is_not_tried_again(sshd: Sshd, tmp_path: Path) -> None:
    wrong = keygen(tmp_path / "wrong")
    machine = replace(machine_of(sshd, "bob"), identity=str(wrong))
    tried = "Connection closed by authenticating user bob"
    before = sshd.log().count(tried)
    nobody = replace(machine, name=MachineName("nobody"), port=1)
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert needs.retry_at is None
        assert needs.advice
        async with receiving(connection_of(nobody, tmp_path / "nothing")) as retried:
            await retried.until(lambda: len(retried.links) >= 4)
        assert {each.state for each in retried.links[1::2]} == {LinkState.DOWN}
        assert received.links[-1] is needs, "another that is retried was tried again meanwhile"
    assert wait_until(lambda: sshd.log().count(tried) - before, "sshd wrote it down") == 1


async def test_a_locked_key_asks_once_when_the_operator_wants_it(
    sshd: Sshd, tmp_path: Path
) -> None:
    asked: list[tuple[str, bool]] = []

    async def ask(question: Question) -> str | None:
        asked.append((question.text, question.is_seen))
        return "open sesame"

    machine = replace(machine_of(sshd), identity=str(sshd.locked_key))
    connection = connection_of(machine, trusting(sshd, tmp_path), ask=ask)
    async with receiving(connection) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert "needs a passphrase" in (needs.reason or "")
        assert asked == []
        connection.retry_now()
        await received.hello()
        assert asked == [
            (f"Passphrase for the key {sshd.locked_key}; it stays on this computer", False)
        ]
        sshd.stop()
        sshd.start()
        await received.until(lambda: len(received.frames("hello")) > 1)
        assert len(asked) == 1


async def test_a_wrong_passphrase_needs_you_again(sshd: Sshd, tmp_path: Path) -> None:
    async def ask(question: Question) -> str | None:
        del question
        return "no"

    machine = replace(machine_of(sshd), identity=str(sshd.locked_key))
    connection = connection_of(machine, trusting(sshd, tmp_path), ask=ask)
    async with receiving(connection) as received:
        await received.link(LinkState.NEEDS_YOU)
        connection.retry_now()
        await received.until(lambda: len(received.links) >= 4)
        needs = await received.link(LinkState.NEEDS_YOU)
        assert "wrong passphrase" in (needs.reason or "")


@pytest.fixture
def agent(sshd: Sshd, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
    try:
        while not path.exists():
            assert process.poll() is None
        subprocess.run(
            ["ssh-add", "-q", str(sshd.key)],
            env={**os.environ, "SSH_AUTH_SOCK": str(path)},
            check=True,
        )
        yield path
    finally:
        process.terminate()
        process.wait()


async def test_the_agent_opens_what_no_file_does(
    sshd: Sshd, agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent))
    machine = replace(machine_of(sshd), identity=None)
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        await received.hello()


async def test_a_name_that_ssh_config_knows_is_enough(sshd: Sshd, tmp_path: Path) -> None:
    config = ssh_config(
        f"Host gpu-*\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User alice\n"
        f"  IdentityFile {sshd.key}\n  IdentitiesOnly yes\n  ForwardAgent yes\n"
    )
    machine = MachineConfig(name=MachineName("gpu-1"), python=PYTHON, ssh_config=config)
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        hello = await received.hello()
        assert hello.head["user"] == "alice"
        assert received.links[-1].advice is None


async def test_words_that_the_library_ignores_are_reported(sshd: Sshd, tmp_path: Path) -> None:
    config = ssh_config(
        "Host gpu-1\n  ControlMaster auto\n  ControlPath ~/.ssh/%C\n"
        "Host other\n  KnownHostsCommand /bin/false\n"
        f"Host *\n  HostName 127.0.0.1\n  HashKnownHosts yes\n  IdentityFile {sshd.key}\n"
    )
    machine = MachineConfig(
        name=MachineName("gpu-1"), port=sshd.port, user="alice", python=PYTHON, ssh_config=config
    )
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        await received.hello()
        advice = received.links[-1].advice or ""
        assert received.state is LinkState.UP
        assert "ControlMaster, ControlPath" in advice
        assert "KnownHostsCommand" not in advice
        assert 'link = "command"' in advice


async def test_ssh_config_decides_what_the_config_leaves_open() -> None:
    config = ssh_config(
        "Host gpu\n  HostName gpu.example.org\n  Port 2222\n  User op\n  HostKeyAlias g\n"
    )
    machine = MachineConfig(name=MachineName("gpu"), user="me", ssh_config=config)
    host = (await resolve_route(machine))[-1].host
    assert (host.host, host.port, host.user, host.alias) == ("gpu.example.org", 2222, "me", "g")


async def test_a_broken_ssh_config_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    config = ssh_config("Host *\n  Port many\n")
    machine = replace(machine_of(sshd), port=None, ssh_config=config)
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        refused = await received.link(LinkState.REFUSED)
        assert f"{config} line 2: Bad port 'many'" in (refused.reason or "")


async def test_a_key_file_that_is_missing_is_named(sshd: Sshd, tmp_path: Path) -> None:
    machine = replace(machine_of(sshd), identity=str(tmp_path / "nowhere"))
    async with receiving(connection_of(machine, trusting(sshd, tmp_path))) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "nowhere" in (refused.reason or "")


async def test_a_password_is_asked_for_once_and_kept_in_memory(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(question: Question) -> str | None:
        assert not question.is_seen
        asked.append(question.text)
        return "open sesame"

    with prepared() as server:
        server.options = "PasswordAuthentication yes\nPubkeyAuthentication no"
        server.set_password("bob", "open sesame")
        server.start()
        connection = connection_of(machine_of(server, "bob"), trusting(server, tmp_path), ask=ask)
        async with receiving(connection) as received:
            await received.link(LinkState.NEEDS_YOU)
            assert asked == []
            connection.retry_now()
            await received.hello()
            assert asked == [
                f"Password for bob@127.0.0.1:{server.port}; it is sent to that machine"
            ]
            server.stop()
            server.start()
            await received.until(lambda: len(received.frames("hello")) > 1)
            assert len(asked) == 1


async def test_a_password_is_asked_for_where_questions_are_offered_and_none_comes(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    async def ask(question: Question) -> str | None:
        assert question.sender == ""
        asked.append(question.text)
        return "open sesame"

    with prepared() as server:
        server.options = (
            "PasswordAuthentication yes\nPubkeyAuthentication no\n"
            "KbdInteractiveAuthentication yes\nMaxAuthTries 3"
        )
        server.set_password("bob", "open sesame")
        server.start()
        connection = connection_of(machine_of(server, "bob"), trusting(server, tmp_path), ask=ask)
        async with receiving(connection) as received:
            await received.link(LinkState.NEEDS_YOU)
            connection.retry_now()
            await received.until(lambda: bool(received.frames("hello")))
        assert asked == [f"Password for bob@127.0.0.1:{server.port}; it is sent to that machine"]


@pytest.fixture
def pam() -> Iterator[Sshd]:
    """An sshd that asks for bob's password by a question of PAM, and in no other way."""
    with prepared() as server:
        (server.root / "up" / "pam.d").mkdir()
        (server.root / "up" / "pam.d" / "sshd").write_text(
            "auth required pam_unix.so\naccount required pam_permit.so\n"
            "session required pam_permit.so\n"
        )
        server.options = "UsePAM yes\nPubkeyAuthentication no\nKbdInteractiveAuthentication yes\n"
        server.set_password("bob", "open sesame")
        server.start()
        yield server


async def test_a_password_that_pam_asks_for_is_kept_in_memory(pam: Sshd, tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(question: Question) -> str | None:
        assert not question.is_seen
        asked.append(question.text)
        return "open sesame"

    connection = connection_of(machine_of(pam, "bob"), trusting(pam, tmp_path), ask=ask)
    async with receiving(connection) as received:
        await received.link(LinkState.NEEDS_YOU)
        assert asked == []
        connection.retry_now()
        await received.until(lambda: bool(received.frames("hello")))
        pam.stop()
        pam.start()
        await received.until(lambda: len(received.frames("hello")) > 1)
    assert len(asked) == 1
    assert "Password" in asked[0]


async def test_a_wrong_password_for_pam_is_forgotten(pam: Sshd, tmp_path: Path) -> None:
    async def ask(question: Question) -> str | None:
        del question
        return "wrong"

    machine, known, credentials = machine_of(pam, "bob"), trusting(pam, tmp_path), Credentials()
    link = AsyncsshLink(machine, known_hosts=known, credentials=credentials, ask=ask)
    with pytest.raises(NeedsYou):
        await link.open()
    await link.close()
    assert not credentials.passwords


class _Token(asyncssh.SSHServer):
    """Wants a token, as a host with a second factor does."""

    def begin_auth(self, username: str) -> bool:
        del username
        return True

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        del username, lang, submethods
        return "", "Second \x1b[2Jfactor", "", [("Token: ", True)]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        del username
        return list(responses) == ["123456"]


async def test_a_second_factor_is_asked_for_in_harmless_words(tmp_path: Path) -> None:
    asked: list[tuple[str, bool]] = []

    async def ask(question: Question) -> str | None:
        asked.append((question.text, question.is_seen))
        return "123456"

    key = asyncssh.read_private_key(keygen(tmp_path / "host"))
    server = await asyncssh.listen("127.0.0.1", 0, server_factory=_Token, server_host_keys=[key])
    async with server:
        port = server.get_port()
        known = tmp_path / "known_hosts"
        known.write_text(f"[127.0.0.1]:{port} {key.export_public_key('openssh').decode()}")
        machine = MachineConfig(name=MachineName("otp"), host="127.0.0.1", port=port, user="alice")
        link = AsyncsshLink(machine, known_hosts=known, credentials=Credentials(), ask=None)
        with pytest.raises(NeedsYou):
            await link.open()
        assert asked == []
        link = AsyncsshLink(machine, known_hosts=known, credentials=Credentials(), ask=ask)
        await link.open()
        await link.close()
        assert asked == [("Second ␛[2Jfactor Token:", True)]
