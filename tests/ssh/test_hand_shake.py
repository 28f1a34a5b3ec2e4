"""The hand-shake behind every login shell, with every Python, and through other commands."""

import shutil
import sys
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.machine import LinkState
from tests.support.pythons import NAMES, pythons
from tests.support.reached import PYTHON, connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd

THIS = MachineName("this")
FOUND = pythons()


@pytest.mark.parametrize("user", ["alice", "dashy", "fishy", "cshy", "tcshy", "noisy", "greedy"])
async def test_the_probe_comes_up_behind_any_login_shell(
    user: str, sshd: Sshd, tmp_path: Path
) -> None:
    connection = connection_of(machine_of(sshd, user), trusting(sshd, tmp_path))
    async with receiving(connection) as received:
        hello = await received.hello()
        assert hello.head["user"] == user
        assert [link.state for link in received.links[:2]] == [LinkState.CONNECTING, LinkState.UP]
        await received.until(lambda: bool(received.frames("processes")))
        assert received.processes() == []


@pytest.mark.parametrize("name", NAMES)
async def test_the_probe_runs_on_every_python(name: str, tmp_path: Path) -> None:
    if name not in FOUND:
        pytest.skip(f"no {name} here")
    python = FOUND[name]
    machine = MachineConfig(name=THIS, link="command", python=python)
    async with receiving(connection_of(machine, tmp_path / "known_hosts")) as received:
        hello = await received.hello()
        assert hello.head["python"].startswith(name.removeprefix("python"))
        await received.until(
            lambda: bool(received.frames("facts")) and bool(received.facts()["cpus"])
        )


_WITHOUT_BZ2 = """#!{python} -I
import sys
sys.modules["bz2"] = None  # what an import finds where Python was built without it
code, sys.argv = sys.argv[4], ["-c", *sys.argv[5:]]
exec(code, {{"__name__": "__main__"}})
"""


async def test_the_probe_runs_on_a_python_without_bz2(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(_WITHOUT_BZ2.format(python=sys.executable))
    python.chmod(0o755)
    machine = MachineConfig(name=THIS, link="command", python=str(python))
    async with receiving(connection_of(machine, tmp_path / "known_hosts")) as received:
        await received.hello()


async def test_an_older_python_is_refused_with_its_version(tmp_path: Path) -> None:
    old = next((path for path in Path(sys.base_prefix).parent.glob("3.[67].*/bin/python3")), None)
    if old is None:
        pytest.skip("no Python older than 3.8 here")
    machine = MachineConfig(name=THIS, link="command", python=str(old))
    async with receiving(connection_of(machine, tmp_path / "known_hosts")) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "evalroom needs 3.8" in (refused.reason or "")


async def test_a_missing_python_is_refused_and_not_tried_again(tmp_path: Path) -> None:
    machine = MachineConfig(name=THIS, link="command", python="no-such-python")
    async with receiving(connection_of(machine, tmp_path / "known_hosts")) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "no-such-python" in (refused.reason or "")
        assert refused.retry_at is None
        assert "python" in (refused.advice or "")


async def test_an_account_without_programs_is_refused_in_its_own_words(
    sshd: Sshd, tmp_path: Path
) -> None:
    connection = connection_of(machine_of(sshd, "nosh"), trusting(sshd, tmp_path))
    async with receiving(connection) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "not available" in (refused.reason or "")


async def test_another_user_is_reached_through_sudo(sshd: Sshd, tmp_path: Path) -> None:
    del sshd  # users exist in its namespace only, so the target is one of the machine's own
    if shutil.which("sudo") is None:
        pytest.skip("no sudo here")
    command = ("sudo", "-n", "-u", "nobody")
    machine = MachineConfig(name=THIS, link="command", command=command, python=PYTHON)
    async with receiving(connection_of(machine, tmp_path / "known_hosts")) as received:
        hello = await received.hello()
        assert hello.head["user"] == "nobody"


async def test_a_machine_is_reached_through_the_ssh_command(sshd: Sshd, tmp_path: Path) -> None:
    known = trusting(sshd, tmp_path)
    command = (
        "ssh", "-F", "none", "-p", str(sshd.port), "-i", str(sshd.key),
        "-o", f"UserKnownHostsFile={known}", "fishy@127.0.0.1",
    )  # fmt: skip
    machine = MachineConfig(name=THIS, link="command", command=command, python=PYTHON)
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        hello = await received.hello()
        assert hello.head["user"] == "fishy"


async def test_an_ssh_command_that_must_ask_needs_you(sshd: Sshd, tmp_path: Path) -> None:
    known = trusting(sshd, tmp_path)
    command = (
        "ssh", "-F", "none", "-p", str(sshd.port), "-o", "IdentityFile=none",
        "-o", f"UserKnownHostsFile={known}", "alice@127.0.0.1",
    )  # fmt: skip
    machine = MachineConfig(name=THIS, link="command", command=command, python=PYTHON)
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        needs = await received.link(LinkState.NEEDS_YOU)
        assert "Permission denied" in (needs.reason or "")
        assert needs.retry_at is None
