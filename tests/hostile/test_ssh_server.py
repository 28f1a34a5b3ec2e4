"""A hostile sshd gets no channel, no agent, no variable and no passphrase of the operator."""

from pathlib import Path

import pytest

from core.model.question import Question
from core.ports import SignIn
from ssh.links.agent import AgentWatch
from ssh.links.asyncssh_auth import Credentials
from ssh.links.asyncssh_link import AsyncsshLink
from tests.hostile.ssh_server import CHANNELS, HostileSshServer, hostile_ssh_server
from tests.support.fleets import H1, fleet_after, named
from tests.support.waiting import until
from tui.controllers.sign_in import line_of

PROMPT = "Enter passphrase for key '/home/ada/.ssh/id_ed25519': "


def _link(server: HostileSshServer, asked: list[Question] | None = None) -> AsyncsshLink:
    async def ask(question: Question) -> str | None:
        assert asked is not None
        asked.append(question)
        return None

    return AsyncsshLink(
        server.machine(),
        known_hosts=server.known_hosts,
        credentials=Credentials(),
        ask=None if asked is None else ask,
        agent=AgentWatch(),
    )


async def test_channels_that_the_client_did_not_ask_for_are_refused(tmp_path: Path) -> None:
    async with hostile_ssh_server(tmp_path) as server:
        link = _link(server)
        await link.open()
        program = await link.start()
        await until(lambda: len(server.refused) + len(server.opened) == len(CHANNELS), "it tried")
        await program.close()
        await link.close()
    assert (server.opened, server.refused, server.requests) == ([], list(CHANNELS), [])


async def test_no_variable_of_the_operator_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never")
    async with hostile_ssh_server(tmp_path) as server:
        link = _link(server)
        await link.open()
        program = await link.start()
        await program.wait()
        await link.close()
    assert not server.variables


async def test_its_question_is_named_as_its_own_and_pointed_out(tmp_path: Path) -> None:
    asked: list[Question] = []
    async with hostile_ssh_server(tmp_path, PROMPT) as server:
        link = _link(server, asked)
        with pytest.raises(Exception, match=r".") as failed:
            await link.open()
        await link.close()
    assert "evil" in str(failed.value) or "127.0.0.1" in str(failed.value)
    [question] = asked
    assert question.sender == f"ada@127.0.0.1:{server.port}"
    assert question.asks_for_a_key
    assert server.answers == []


def test_the_line_before_a_lent_terminal_says_whose_questions_come() -> None:
    machine = fleet_after(named()).machines[H1]
    line = line_of(machine, SignIn(("ssh", "-F", "a b\x1b[2J", "gpu"), is_kept=True))
    assert "(USER@HOST), is the machine's own question: its answer is sent there." in line
    assert f"To sign in to {H1}, evalroom runs this here" in line
    assert "\x1b" not in line
