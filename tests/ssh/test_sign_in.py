"""The command that a person runs if a link's ssh must ask, as ssh itself reads it."""

from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.machine import LinkState
from core.ports import SignIn
from ssh.links.sign_in import sign_in_for
from tests.support.reached import PYTHON, connection_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd

SSH = ("ssh", "-F", "none")
ALIVE = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "ConnectTimeout=10")


async def sign_in_of(*words: str) -> SignIn:
    found = await sign_in_for((*SSH, *words))
    assert found is not None
    assert found.words[: len(("ssh", "-T", "-o", "BatchMode=no"))] == (
        "ssh", "-T", "-o", "BatchMode=no",
    )  # fmt: skip
    assert found.words[-len(words) - 1 :] == (*words, "true")
    return found


async def test_the_configured_words_run_without_batch_mode() -> None:
    found = await sign_in_of("-o", "BatchMode=yes", "-p", "2222", "host", "sudo", "-u", "eve")
    assert found.words == (
        "ssh", "-T", "-o", "BatchMode=no", *ALIVE, "-F", "none",
        "-o", "BatchMode=yes", "-p", "2222", "host", "sudo", "-u", "eve", "true",
    )  # fmt: skip
    assert not found.is_kept


async def test_a_master_that_would_end_with_the_sign_in_stays_for_a_while() -> None:
    found = await sign_in_of("-o", "ControlMaster=auto", "-o", "ControlPath=~/.ssh/%C", "host")
    assert "ControlPersist=10m" in found.words
    assert "ControlMaster=auto" not in found.words[: found.words.index("-F")]
    assert found.is_kept


async def test_a_path_without_a_master_gets_one() -> None:
    found = await sign_in_of("-S", "~/.ssh/%C", "host")
    assert {"ControlMaster=auto", "ControlPersist=10m"} <= set(found.words)
    assert found.is_kept


async def test_a_master_that_is_kept_stays_as_it_is_configured(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host far\nControlMaster auto\nControlPersist 1h\nControlPath ~/.ssh/%C\n")
    found = await sign_in_for(("ssh", "-F", str(config), "far"))
    words = ("ssh", "-T", "-o", "BatchMode=no", *ALIVE, "-F", str(config), "far", "true")
    assert found == SignIn(words, is_kept=True)


@pytest.mark.parametrize(
    "command", [(), ("sudo", "-u", "eve"), ("docker", "exec", "-i", "evals"), ("autossh", "host")]
)
async def test_other_commands_have_nothing_that_signs_in(command: tuple[str, ...]) -> None:
    assert await sign_in_for(command) is None


async def test_an_ssh_that_can_not_be_read_still_signs_in() -> None:
    found = await sign_in_for(("/no/such/ssh", "host"))
    assert found is not None
    assert found.words == ("/no/such/ssh", "-T", "-o", "BatchMode=no", "host", "true")


async def test_only_a_machine_that_needs_you_is_signed_in_to(sshd: Sshd, tmp_path: Path) -> None:
    words = ("-p", str(sshd.port), "alice@127.0.0.1")
    unknown = ("-o", f"UserKnownHostsFile={tmp_path / 'none'}", "-i", str(sshd.key))
    known = ("-o", f"UserKnownHostsFile={trusting(sshd, tmp_path)}", "-i", str(sshd.key))
    for more, state in ((unknown, LinkState.NEEDS_YOU), (known, LinkState.UP)):
        machine = MachineConfig(
            name=MachineName("far"), link="command", command=(*SSH, *more, *words), python=PYTHON
        )
        connection = connection_of(machine, tmp_path / "unused")
        async with receiving(connection) as received:
            link = await received.link(state)
            signs_in = await connection.sign_in()
            assert (signs_in is not None) is (state is LinkState.NEEDS_YOU)
            if state is LinkState.NEEDS_YOU:
                assert "Host key verification failed" in (link.reason or "")
                assert "press r" in (link.advice or "")
