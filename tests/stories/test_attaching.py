"""An operator attaches to a run's display and comes back; the room goes on meanwhile."""

import json
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import join
from typing import Any

import pytest

from core.launch.engines.tmux_sessions import TMUX_COMMAND, attach_command
from tests.bench.rooms import home_env
from tests.support.evals import short_folder
from tests.support.sshd import SUPER, Sshd, running
from tests.support.tmux import Tmux, in_tmux
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

NAME = "smoke-vdmc2a9g"
DISPLAY = "the display of an eval"
ROOM = "evalroom/smoke"
"""The room's view of its run."""


@dataclass
class Place:
    """Where a room is opened, with a session of a run on a server of ours.

    Attributes:
        tmux: The session's server, in words.
    """

    folder: Path
    tmux: tuple[str, ...] = TMUX_COMMAND
    machine: Mapping[str, Any] = field(default_factory=lambda: {"name": "here", "link": "command"})
    attach: Sequence[str] = attach_command(NAME)
    known_hosts: Sequence[str] = ()

    def env(self) -> dict[str, str]:
        env = {**home_env(self.folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        return {**env, "TMUX_TMPDIR": str(self.folder)}

    def room(self, way: str = "window") -> list[str]:
        given = {
            "machine": dict(self.machine), "attach": list(self.attach), "way": way,
            "known_hosts": list(self.known_hosts), "folder": str(self.folder),
        }  # fmt: skip
        return [sys.executable, "-m", "tests.support.attaching_room", json.dumps(given)]

    def beats(self) -> int:
        try:
            return int((self.folder / "beat").read_text() or 0)
        except FileNotFoundError:
            return 0

    def goes_on(self) -> None:
        """Wait until the room's event loop has gone round some more."""
        before = self.beats()
        wait_until(lambda: self.beats() > before + 2, "the room goes on")


@pytest.fixture
def place() -> Iterator[Place]:
    with short_folder() as folder:
        yield Place(folder)


@contextmanager
def _opened(place: Place, command: Sequence[str]) -> Generator[Tmux, None, None]:
    """Run a command on a terminal that knows of no tmux; a session of a run is there."""
    outside = ["env", "-u", "TMUX", "-u", "TMUX_PANE", *command]
    with in_tmux(place.folder, outside, columns=120, lines=30, env=place.env()) as tmux:
        session = ["new-session", "-d", "-s", NAME, f"echo {DISPLAY}; exec cat"]
        run = ["env", "-u", "TMUX", f"TMUX_TMPDIR={place.folder}", *place.tmux]
        tmux.run("run-shell", join([*run, *session]))
        try:
            yield tmux
        finally:
            for each in (run, ["tmux", "-S", f"{place.folder}/mine"]):
                tmux.run("run-shell", join([*each, "kill-server"]))


def _in_own_tmux(place: Place, way: str) -> list[str]:
    own = ["tmux", "-u", "-S", f"{place.folder}/mine", "-f", "/dev/null"]
    return [*own, "new-session", "-s", "mine", join(place.room(way))]


def _attached(tmux: Tmux, place: Place) -> None:
    tmux.until(ROOM)
    tmux.keys("t")
    tmux.until(DISPLAY)
    place.goes_on()


def test_outside_of_tmux_the_room_lends_its_terminal(place: Place) -> None:
    with _opened(place, place.room()) as tmux:
        _attached(tmux, place)
        assert ROOM not in tmux.screen()
        tmux.keys("C-b", "d")
        tmux.until(ROOM)
        tmux.keys("?")
        tmux.until("Esc closes")


def test_inside_tmux_it_is_a_new_window_behind_a_doubled_prefix(place: Place) -> None:
    with _opened(place, _in_own_tmux(place, "window")) as tmux:
        _attached(tmux, place)
        tmux.until("1:run-vdmc2a9g*")
        tmux.keys("C-b", "C-b", "d")
        tmux.until(ROOM)


def test_inside_tmux_it_may_take_the_place_of_the_rooms_own(place: Place) -> None:
    with _opened(place, _in_own_tmux(place, "switch")) as tmux:
        _attached(tmux, place)
        tmux.keys("C-b", "d")
        tmux.until(ROOM)
        assert "mine" in tmux.screen()


def test_a_room_on_the_server_of_the_runs_switches_to_one(place: Place) -> None:
    command = [*TMUX_COMMAND, "-f", "/dev/null", "new-session", "-s", "room", join(place.room())]
    with _opened(place, command) as tmux:
        _attached(tmux, place)
        tmux.keys("C-b", "L")
        tmux.until(ROOM)


def test_a_session_that_is_gone_can_be_read_about(place: Place) -> None:
    place.attach = attach_command("gone")
    with _opened(place, _in_own_tmux(place, "window")) as tmux:
        tmux.until(ROOM)
        tmux.keys("t")
        assert "can't find session" in tmux.until("Enter closes this.")
        tmux.keys("Enter")
        tmux.until(ROOM)


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    with running() as server:
        yield server


def test_a_session_on_another_machine_is_attached_to_over_ssh(place: Place, sshd: Sshd) -> None:
    known = place.folder / "ours"
    known.write_text(sshd.known_hosts_line())
    far = ("tmux", "-u", "-S", f"{place.folder}/far")
    place.machine = {
        "name": "far", "host": "127.0.0.1", "port": sshd.port, "user": SUPER, "ssh_config": "none",
        "identity": str(sshd.key),
    }  # fmt: skip
    place.tmux, place.known_hosts = far, [str(known)]
    place.attach = (*far, "attach-session", "-t", f"={NAME}")
    with _opened(place, _in_own_tmux(place, "switch")) as tmux:
        _attached(tmux, place)
        tmux.until("1:run-vdmc2a9g*")
        tmux.keys("C-b", "C-b", "d")
        tmux.until(ROOM)
