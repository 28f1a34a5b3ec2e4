"""evalroom's own reading of ssh_config against ssh's: both must give the same connection."""

import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from ssh.links.config_lines import ConfigProblem
from ssh.links.config_parser import Destination, parse_config
from ssh.links.config_tokens import LocalAccount
from ssh.links.resolved_host import ResolvedHost, resolved_host
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
