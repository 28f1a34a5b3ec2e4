"""evalroom's own reading of ssh_config against ssh's: both must give the same connection."""

import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from ssh.links.config_lines import ConfigProblem
from ssh.links.config_parser import Destination, parse_config
from ssh.links.config_tokens import LocalAccount
from ssh.links.resolved_host import ResolvedHost, resolved_host
from ssh.links.ssh_config import resolve_route, ssh_words
from ssh.links.ssh_query import SshRejected, ask_ssh
from tests.ssh.config_corpus import CASES, REJECTED, Case

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")


def destination(case: Case, folder: Path) -> Destination:
    """Write the files of a case and return what ssh is asked for."""
    for name, text in {"config": case.text, **case.files}.items():
        content = text.replace("@/", f"{folder}/").encode()
        (folder / name).write_bytes(content)
    return Destination(
        name=case.name, user=case.user, port=case.port, jump=case.jump, file=str(folder / "config")
    )


async def by_ssh(asked: Destination) -> ResolvedHost:
    words = [
        *("-F", str(asked.file)),
        *(("-l", asked.user) if asked.user else ()),
        *(("-p", str(asked.port)) if asked.port else ()),
        *(("-J", asked.jump) if asked.jump else ()),
        asked.name,
    ]
    options = await ask_ssh(words)
    name = asked.without_syntax().name
    return resolved_host(name, options, LocalAccount.current(), is_expanded=True)


def by_evalroom(asked: Destination) -> ResolvedHost:
    account = LocalAccount.current()
    parsed = parse_config(asked, account)
    return resolved_host(asked.without_syntax().name, parsed.options, account, is_expanded=False)


@pytest.mark.parametrize("title", CASES)
async def test_both_readings_give_the_same_connection(title: str, tmp_path: Path) -> None:
    asked = destination(CASES[title], tmp_path)
    assert asdict(by_evalroom(asked)) == asdict(await by_ssh(asked))
    assert not (tmp_path / "ran").exists()


_FOR_ALL = ("UserKnownHostsFile", "GlobalKnownHostsFile")


@pytest.mark.parametrize("option", _FOR_ALL)
@pytest.mark.parametrize(
    ("value", "files", "expected"),
    [
        ('"@/k h" @/b', ("k",), ("@/k h", "@/b")),  # `@/k` is another file
        ("@/k h", ("k h",), ("@/k", "h")),  # `@/k h` is another file
        ('"@/k /h"', (), ("@/k /h",)),
        ('@/a "@/b /c" d', ("a", "b"), ("@/a", "@/b /c", "d")),
    ],
)
async def test_the_own_reading_says_where_a_file_of_host_keys_ends(
    tmp_path: Path, option: str, value: str, files: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    asked = destination(
        Case(f"Host a\n {option} {value}\n", files=dict.fromkeys(files, "")), tmp_path
    )
    machine = MachineConfig(name=MachineName("a"), ssh_config=asked.file)
    (hop,) = await resolve_route(machine)
    paths = tuple(each.replace("@/", f"{tmp_path}/") for each in expected)
    found = hop.host.known_hosts
    assert (found[: len(paths)] if option == _FOR_ALL[0] else found[-len(paths) :]) == paths


@pytest.mark.parametrize("name", ["k", "k h", 'k "h', "k\\h", "k 'h"])
async def test_the_advised_command_names_the_same_file_of_host_keys(
    tmp_path: Path, name: str
) -> None:
    file = f"{tmp_path}/{name}"
    words = ssh_words(MachineConfig(name=MachineName("a"), known_hosts=file, ssh_config="none"))
    assert (await ask_ssh(words[1:]))["userknownhostsfile"] == (file,)


@pytest.mark.parametrize("title", REJECTED)
async def test_both_readings_refuse_the_same_lines(title: str, tmp_path: Path) -> None:
    asked = destination(REJECTED[title], tmp_path)
    with pytest.raises(SshRejected) as caught:
        await by_ssh(asked)
    with pytest.raises(ConfigProblem) as own:
        by_evalroom(asked)
    line = re.search(r"line (\d+)", str(caught.value))
    if line is not None:
        assert own.value.place == f"{asked.file} line {line.group(1)}"
