"""How a terminal is opened, by what the room runs in; the stories do it in a real tmux."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace

import pytest

from core.config.model import AttachWay, MachineConfig
from core.ids import MachineName
from core.launch.engines.tmux_sessions import attach_command
from tests.support.attaching_room import RUN, BeatingRoom
from tests.support.rooms import app_on, shows
from tui.controllers.attach import AttachController, TerminalOpening, opening
from tui.services import AttachSettings

HERE = MachineConfig(name=MachineName("here"), link="command")
FAR = MachineConfig(name=MachineName("far"))
WORDS = attach_command("smoke-x")
TO_FAR = ("ssh", "-tax", "-o", "RemoteCommand=none", "-o", "ClearAllForwardings=yes", "far")
INSIDE = {"TMUX": "/tmp/it's/default,12,3", "TMUX_TMPDIR": "/tmp/it's"}


def _opening(
    machine: MachineConfig, environ: Mapping[str, str], way: AttachWay = "window"
) -> TerminalOpening:
    return opening(
        machine, WORDS, title="a 'run'; #{x}", leave="C-b d", environ=environ, way=way
    )  # fmt: skip


@pytest.mark.parametrize("way", ["window", "switch"])
def test_without_tmux_the_terminal_is_lent(way: AttachWay) -> None:
    assert _opening(HERE, {}, way) == TerminalOpening(words=WORDS, is_lent=True, note="C-b d")
    assert _opening(FAR, {"TMUX": ""}, way).words[:-1] == TO_FAR


@pytest.mark.parametrize("machine", [HERE, FAR])
def test_a_window_has_a_plain_name_and_no_tmux_around_it(machine: MachineConfig) -> None:
    found = _opening(machine, INSIDE)
    assert found.words[:4] == ("tmux", "new-window", "-n", "a--run-----x-")
    assert found.words[4:6] == ("/bin/sh", "-c")
    assert not found.words[6].endswith(";")  # a tmux would begin its next command there
    assert "press C-b twice" in found.note
    words = replace(found, words=_run(found.words[6])).words
    assert words[:2] == ("unset", "/tmp/it's")
    assert words[2:] in {WORDS, (*TO_FAR, words[-1])}


def _run(script: str) -> tuple[str, ...]:
    """Return what the shell in a new window runs: TMUX, its folder, and the words."""
    prefix = 'printf "%s\\n" "${TMUX-unset}" "$TMUX_TMPDIR"; printf "%s\\n"'
    for program in ("tmux", "ssh"):
        script = script.replace(f"'{program}' ", f"{prefix} '{program}' ", 1)
    done = subprocess.run(
        ["/bin/sh", "-c", script], env={"TMUX": "x"}, capture_output=True, text=True, check=True
    )
    return tuple(done.stdout.splitlines())


def test_only_what_is_here_takes_the_place_of_the_rooms_tmux() -> None:
    found = _opening(HERE, INSIDE, "switch")
    assert found.words[:3] == ("tmux", "detach-client", "-E")
    assert found.words[3].endswith("'-S' '/tmp/it'\\''s/default' 'attach-session' '-t' '$3'")
    assert _opening(FAR, INSIDE, "switch").words[1] == "new-window"


async def test_what_can_not_be_opened_is_reported() -> None:
    app = app_on(BeatingRoom(None))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        attaching = AttachController(
            app, AttachSettings(machines=(HERE,), way="window"), environ={}
        )
        for machine, words, sentence in (
            (FAR, WORDS, "does not name this run's machine"),
            (HERE, (), "no terminal to attach to"),
            (HERE, ("a\0b",), "NUL character"),
        ):
            attaching.open(machine.name, words, title=RUN, leave="")
            await shows(pilot, sentence)
