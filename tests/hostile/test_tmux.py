"""A hostile tmux server: what it lists is text, and nothing that it names is ended."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.model import MachineConfig
from core.errors import UsageWrong
from core.ids import MachineName
from core.launch.engines.tmux_sessions import (
    TmuxSession,
    end_command,
    is_session_name,
    parse_sessions,
)
from core.launch.run.sessions import MachineSession, end_session
from core.model.job import Job
from tests.support.commands import Home, machine
from tests.support.evals import short_folder
from tui.controllers.attach import opening

HERE = MachineName("here")
HOSTILE = (
    "x; kill-server",
    "$(touch HIT)",
    "-t",
    "=x",
    "a:b",
    "a.b",
    "\x1b]2;title\x07",
    "",
    "x\ny",
)


class Nobody:
    """A machine that must not be asked anything."""

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> dict[str, object]:
        raise AssertionError((machine, job, deadline))


@given(st.text())
def test_any_list_is_read(listed: str) -> None:
    assert all(each.name and each.created >= 0 for each in parse_sessions(listed))


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_session_of_a_name_that_evalroom_never_gives_is_not_ended(name: str) -> None:
    assert not is_session_name(name)
    found = TmuxSession(name=name, created=1.0, attached=0, has_ended=False, status=None, run=None)
    with pytest.raises(UsageWrong, match="is not a session of evalroom"):
        await end_session(Nobody(), MachineSession(HERE, found))
    assert end_command("ok")[-1] == "=ok"


def test_its_names_are_printed_harmless() -> None:
    """A `tmux` on the machine's PATH that lists what it likes, with a title for the terminal."""
    with short_folder() as folder:
        home = Home(folder)
        tmux = folder / "tmux"
        name = "\\033]2;EVIL\\007\\033[2Jx"
        tmux.write_text(f"#!/bin/sh\nprintf '100 0 0 = =run {name}\\n'\nprintf 'junk\\n'\n")
        tmux.chmod(0o755)
        home.configure(machine("here", folder))
        ran = home.run("sessions", env={"PATH": f"{folder}:/usr/bin:/bin"})
        assert "␛]2;EVIL␇" in ran.out, ran
        assert not {"\x1b", "\x07"} & set(ran.out)


@given(st.text())
def test_a_title_of_a_window_is_a_plain_word(title: str) -> None:
    local = MachineConfig(name=HERE, link="command", command=("ssh", "h"))
    found = opening(
        local, ("tmux", "attach"), title=title, leave="C-b d",
        environ={"TMUX": "/tmp/tmux-0/default,1,0"}, way="window",
    )  # fmt: skip
    assert found.words[:3] == ("tmux", "new-window", "-n")
    assert shlex.quote(found.words[3] or "x") == (found.words[3] or "x")
    assert Path(found.words[4]) == Path("/bin/sh")
