"""Command links: what the user's ssh_config says does not break them; a terminal is named."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import RequestFailed
from core.ids import MachineName
from core.model.job import Job
from core.model.machine import LinkState
from ssh.handshake import TIMEOUT_S
from ssh.jobs import do_job
from ssh.links.command_link import CommandLink, shell_command
from ssh.links.sign_in import sign_in_for
from ssh.links.ssh_command import effective_options, link_options, unlent_options
from ssh.links.ssh_config import ssh_words
from tests.support.reached import PYTHON, connection_of, machine_of, trusting
from tests.support.receiving import receiving
from tests.support.sshd import Sshd
from tests.support.waiting import WAIT_S

FAR = MachineName("far")


def by_command(*command: str) -> MachineConfig:
    """A machine that a command reaches."""
    return MachineConfig(name=FAR, link="command", command=command, python=PYTHON)


def host_of(sshd: Sshd, folder: Path, more: str) -> str:
    """Write a config for ssh that knows this sshd as `far`; return its path."""
    path = folder / "config"
    path.write_text(
        f"Host far\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User bob\n"
        f"  IdentityFile {sshd.key}\n  UserKnownHostsFile {trusting(sshd, folder)}\n{more}"
    )
    return str(path)


@pytest.mark.parametrize(
    "more",
    [
        "  RemoteCommand tmux attach\n  RequestTTY force\n",
        "  SessionType none\n",
        "  StdinNull yes\n",
        "  ForkAfterAuthentication yes\n",
        "  LocalForward 127.0.0.1:1 h:1\n  LocalForward {taken} h:1\n  ExitOnForwardFailure yes\n",
    ],
)
async def test_options_for_people_do_not_break_a_link(
    more: str, sshd: Sshd, tmp_path: Path
) -> None:
    config = host_of(sshd, tmp_path, more.format(taken=f"127.0.0.1:{sshd.port}"))
    machine = by_command("ssh", "-F", config, "far")
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        assert (await received.hello()).head["user"] == "bob"


async def test_signing_in_runs_no_remote_command(sshd: Sshd, tmp_path: Path) -> None:
    config = host_of(sshd, tmp_path, "  RemoteCommand tmux attach\n")
    found = await sign_in_for(("ssh", "-F", config, "far"))
    assert found is not None
    assert "RemoteCommand=none" in found.words[: found.words.index("-F")]


@pytest.mark.parametrize(
    ("words", "more", "is_set"),
    [
        ((), "", True),
        ((), "ServerAliveInterval 30\n", False),
        (("-o", "ServerAliveInterval=7"), "", False),
        (("-o", "BatchMode=yes"), "", True),
        (("-o", "BatchMode=yes"), "ServerAliveInterval 300\n", False),
    ],
)
async def test_a_dead_network_is_noticed_unless_the_user_says_how(
    words: tuple[str, ...], more: str, is_set: bool, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(more)
    options = link_options(await effective_options(("ssh", "-F", str(config), *words, "far")))
    expected = {"ServerAliveInterval": "5", "ServerAliveCountMax": "3"} if is_set else {}
    assert options == {**expected, "ConnectTimeout": "10"}


@pytest.mark.parametrize(
    ("command", "unlent"),
    [
        (("ssh", "far"), {"ForwardAgent": "no", "ForwardX11": "no"}),
        (("ssh", "far", "ssh", "inner"), {}),
    ],
)
async def test_a_link_lends_neither_agent_nor_display_and_opens_no_forward(
    command: tuple[str, ...], unlent: dict[str, str], tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("ForwardAgent yes\nForwardX11 yes\nRemoteForward 9000 localhost:22\n")
    words = (command[0], "-F", str(config), *command[1:])
    options = await effective_options(words)
    assert unlent_options(words, options) == unlent
    assert link_options(options)["ClearAllForwardings"] == "yes"
    sign_in = await sign_in_for(words)
    assert sign_in is not None
    assert ("ForwardAgent=no" in sign_in.words) is bool(unlent)


async def test_autossh_gets_what_its_ssh_needs(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("RemoteCommand top\nServerAliveInterval 9\nConnectTimeout 20\n")
    command = ("/usr/bin/autossh", "-M", "0", "-F", str(config), "far")
    options = link_options(await effective_options(command))
    assert options == {"RemoteCommand": "none"}
    assert shell_command(command, options) == (
        "/usr/bin/autossh", "-T", "-o", "BatchMode=yes", "-o", "RemoteCommand=none",
        *command[1:], "/bin/sh",
    )  # fmt: skip


@pytest.mark.parametrize("way", ["ssh -tt", "script"])
async def test_a_terminal_on_the_way_is_named(way: str, sshd: Sshd, tmp_path: Path) -> None:
    command: tuple[str, ...]
    if way == "script":
        if shutil.which("script") is None:
            pytest.skip("no script here")
        command = ("script", "-q", "/dev/null", "-c")
    else:
        command = ("ssh", "-tt", "-F", host_of(sshd, tmp_path, ""), "far")
    async with receiving(connection_of(by_command(*command), tmp_path / "unused")) as received:
        refused = await received.link(LinkState.REFUSED, seconds=TIMEOUT_S - 2.0)
        assert "there is a terminal between evalroom and far" in (refused.reason or "")
        assert "-tt" in (refused.advice or "")


async def test_the_command_that_replaces_a_machine_reaches_the_same_one(
    sshd: Sshd, tmp_path: Path
) -> None:
    known = trusting(sshd, tmp_path)
    machine = machine_of(sshd, "bob", known_hosts=str(known))
    words = ssh_words(machine)
    assert words == (
        "ssh", "-F", "none", "-l", "bob", "-p", str(sshd.port), "-i", str(sshd.key),
        "-o", f"UserKnownHostsFile={known}", "127.0.0.1",
    )  # fmt: skip
    async with receiving(connection_of(by_command(*words), tmp_path / "unused")) as received:
        assert (await received.hello()).head["user"] == "bob"


MINIMAL = f"""#!{sys.executable} -I
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "json":
            raise ModuleNotFoundError("No module named 'json'", name=name)


sys.meta_path.insert(0, Absent())
at = sys.argv.index("-c") + 1
code, sys.argv = sys.argv[at], ["-c", *sys.argv[at + 1 :]]
exec(code)
"""
"""A Python without a part of its standard library, such as Debian's python3-minimal."""


async def test_a_python_without_its_whole_library_is_reported_with_what_to_install(
    tmp_path: Path,
) -> None:
    python = tmp_path / "python3"
    python.write_text(MINIMAL)
    python.chmod(0o755)
    machine = replace(by_command("env"), python=str(python))
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        refused = await received.link(LinkState.REFUSED)
        assert "lacks a part of its standard library: json" in (refused.reason or "")
        assert "python3-minimal" in (refused.advice or "")
    link = CommandLink(machine.name, machine.command)
    job = Job(program="survey", verb="survey")
    with pytest.raises(RequestFailed, match="lacks a part of its standard library: json") as caught:
        await do_job(machine.name, link, job, python=str(python), deadline=WAIT_S)
    assert "python3-minimal" in caught.value.advice
