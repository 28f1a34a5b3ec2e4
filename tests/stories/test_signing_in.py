"""An operator signs in to a machine whose own ssh has to ask, in the room's own terminal."""

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.bench.rooms import EVALROOM, home_env
from tests.support.evals import short_folder
from tests.support.processes import wait_gone, with_words
from tests.support.sshd import Sshd, running
from tests.support.terminal import Terminal
from tests.support.tmux import Tmux, in_tmux
from tests.support.tree import ROOT
from tests.support.waiting import WAIT_S, wait_until

ASKED = "Enter passphrase for key"


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    with running() as server:
        yield server


@dataclass(frozen=True, slots=True)
class Desk:
    """A config with one machine behind a key that has a passphrase, and where its ssh keeps things.

    Attributes:
        ssh: The words that reach it.
        command: What opens the room.
        env: Of the room.
    """

    folder: Path
    ssh: tuple[str, ...]
    command: tuple[str, ...]
    env: dict[str, str]

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known"

    def master(self, command: str) -> bool:
        """Whether the ControlMaster takes a command (`check`, `exit`)."""
        words = [self.ssh[0], "-O", command, *self.ssh[1:]]
        done = subprocess.run(words, capture_output=True, check=False, timeout=WAIT_S)
        return done.returncode == 0


@pytest.fixture
def desk(sshd: Sshd) -> Iterator[Desk]:
    with short_folder() as folder:
        known = folder / "known"
        known.write_text(sshd.known_hosts_line())
        ssh = (
            "ssh", "-F", "none", "-p", str(sshd.port), "-i", str(sshd.locked_key),
            "-o", "IdentityAgent=none", "-o", f"UserKnownHostsFile={known}",
            "-o", "NumberOfPasswordPrompts=1", "-o", "ControlMaster=auto",
            "-o", f"ControlPath={folder}/%C", "alice@127.0.0.1",
        )  # fmt: skip
        words = ", ".join(f'"{word}"' for word in ssh)
        file = folder / "config.toml"
        file.write_text(
            f'[[machines]]\nname = "far"\nlink = "command"\ncommand = [{words}]\n'
            'python = "/usr/bin/python3"\n'
        )
        file.chmod(0o600)
        env = {**home_env(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        one = Desk(folder, ssh, (*EVALROOM, "--config", str(file)), env)
        try:
            yield one
        finally:
            one.master("exit")


def _at_the_prompt(tmux: Tmux, prompt: str = ASKED) -> str:
    tmux.until("needs you")
    tmux.keys("1", "r")
    screen = tmux.until(prompt)
    assert "Findings" not in screen, "the room is off the screen"
    return screen


def test_the_passphrase_is_typed_to_ssh_and_the_link_goes_over_its_master(desk: Desk) -> None:
    with in_tmux(desk.folder, desk.command, columns=160, lines=40, env=desk.env) as tmux:
        asked = _at_the_prompt(tmux)
        assert "To sign in to far, evalroom runs this here" in asked
        tmux.resize(140, 36)
        tmux.keys("open sesame", "Enter")
        screen = tmux.until(
            lambda screen: (
                "Findings" in screen
                and "● far" in screen
                and {len(line) for line in screen.splitlines() if line.startswith("┌")} == {140}
            )
        )
        assert ASKED not in screen
        assert "sesame" not in screen
        wait_until(lambda: tmux.title().startswith("evalroom"), "its title", seen=tmux.title)
        assert desk.master("check")
        tmux.keys("?")
        tmux.until("Esc closes")
        tmux.keys("PageDown")
        tmux.until("answer it here")


def test_a_wrong_passphrase_can_be_read_about_and_comes_back_with_a_sentence(desk: Desk) -> None:
    with in_tmux(desk.folder, desk.command, columns=160, lines=40, env=desk.env) as tmux:
        _at_the_prompt(tmux)
        tmux.keys("wrong", "Enter")
        assert "Permission denied" in tmux.until("Press Enter to return to evalroom")
        tmux.keys("q", "Enter")  # for ssh, or for nobody: never for the room
        screen = tmux.until(
            lambda screen: "ssh did not sign in to far" in screen and "needs you" in screen
        )
        assert "Leave evalroom" not in screen
        assert not desk.master("check")
        tmux.keys("r")
        tmux.until(lambda screen: screen.count(ASKED) == 2)  # below what the first time left
        tmux.keys("open sesame", "Enter")
        tmux.until("● far")


def test_ctrl_c_gives_signing_in_up_and_not_the_room(desk: Desk) -> None:
    with in_tmux(desk.folder, desk.command, columns=80, lines=24, env=desk.env) as tmux:
        _at_the_prompt(tmux)
        tmux.keys("C-c")
        tmux.until("cancelled")
        tmux.until("needs you")
        tmux.keys("q")
        tmux.until("Leave evalroom")


def test_an_unknown_host_key_is_asked_about_by_ssh_itself(desk: Desk) -> None:
    line = desk.known_hosts.read_text()
    desk.known_hosts.write_text("")
    with in_tmux(desk.folder, desk.command, columns=160, lines=40, env=desk.env) as tmux:
        _at_the_prompt(tmux, "Are you sure you want to continue connecting")
        tmux.keys("yes", "Enter")
        tmux.until(ASKED)
        tmux.keys("open sesame", "Enter")
        tmux.until("● far")
    assert line.split()[2] in desk.known_hosts.read_text()


def test_a_room_behind_ssh_can_not_be_stopped_and_its_end_is_the_end_of_ssh(desk: Desk) -> None:
    word = f"ControlPath={desk.folder}"
    terminal = Terminal(desk.command, env=desk.env, cwd=ROOT)
    try:
        terminal.until("needs you")
        terminal.type("1r")
        terminal.until(ASKED)
        assert with_words(word)
        assert not terminal.echoes()
        terminal.type("\x1a")  # Ctrl+Z would stop the room too, and a signal would wait
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.wait_end() == 128 + signal.SIGTERM
        assert terminal.echoes()
    finally:
        terminal.close()
    wait_gone(lambda: with_words(word), "the ssh of the room is")
