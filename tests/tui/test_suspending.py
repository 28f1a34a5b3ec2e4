"""The room is stopped and goes on, in a real shell with job control."""

import os
import signal
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest

from tests.support.evals import short_folder
from tests.support.processes import children_of
from tests.support.tmux import Tmux, in_tmux
from tests.support.tree import ROOT
from tests.support.waiting import wait_until

HELP = "Move down one row"
ROOM = f"{sys.executable} -m tests.support.rooms busy"
STOPPED_IN_WRITES = f"{sys.executable} -m tests.support.stopped_in_writes {{folder}}/over"


@pytest.fixture
def shell(request: pytest.FixtureRequest) -> Generator[Tmux]:
    """A shell in tmux that runs the room on a small fleet."""
    room = getattr(request, "param", ROOM)
    env = {"LANG": "C.UTF-8", "NO_COLOR": "", "PYTHONPATH": str(ROOT)}
    with (
        short_folder() as folder,
        in_tmux(folder, ["bash", "--norc"], columns=100, lines=30, env=env) as tmux,
    ):
        tmux.until("bash-")
        tmux.keys("-l", room.format(folder=folder))
        tmux.keys("Enter")
        tmux.until(is_whole)
        yield tmux


def is_whole(screen: str) -> bool:
    """Whether each pane of the room is drawn, with the header and the keys, and no dialog."""
    words = ("evalroom", "1 Machines", "2 Tasks", "4 Findings", "filter")
    return all(word in screen for word in words) and HELP not in screen


def room_pid(shell: Tmux) -> int:
    """The pid of the room: the only child of this shell."""
    (pid,) = children_of(int(shell.run("display-message", "-p", "-t", "room", "#{pane_pid}")))
    return pid


def new_threads(tasks: Path, known: set[Path]) -> set[Path]:
    """The threads of a process that were not there before."""
    return set(tasks.iterdir()) - known


def test_the_whole_screen_is_back_after_a_suspend(shell: Tmux) -> None:
    shell.keys("C-z")
    shell.until("Stopped")
    shell.keys("fg", "Enter")
    shell.until(is_whole)
    shell.keys("?")
    shell.until(HELP)


def test_a_stop_from_outside_leaves_one_reader_of_keys_and_a_whole_screen(shell: Tmux) -> None:
    pid = room_pid(shell)
    tasks = Path(f"/proc/{pid}/task")
    before = len(list(tasks.iterdir()))
    for _ in range(3):
        os.kill(pid, signal.SIGSTOP)
        shell.until("Stopped")
        shell.keys("clear", "Enter")
        shell.until(lambda screen: "Stopped" not in screen and not is_whole(screen))
        shell.keys("fg", "Enter")
        shell.until(is_whole)
    for _ in range(4):  # a shell may send more than one
        threads = set(tasks.iterdir())
        os.kill(pid, signal.SIGCONT)
        # A new thread reads keys; what was typed before that was dropped.
        wait_until(partial(new_threads, tasks, threads), "it takes the terminal again")
        shell.keys("?")
        shell.until(HELP)
        shell.keys("Escape")
        shell.until(is_whole)
    wait_until(lambda: len(list(tasks.iterdir())) <= before, "no thread is left over")
    shell.keys("?")
    shell.until(HELP)


@pytest.mark.parametrize("shell", [STOPPED_IN_WRITES], indirect=True)
def test_a_signal_in_the_midst_of_a_write_does_not_freeze_the_room(shell: Tmux) -> None:
    over = shell.socket.parent / "over"

    def is_over() -> bool:
        shell.keys("j")  # it draws; keys typed before the terminal is taken again are dropped
        return over.exists()

    wait_until(is_over, "the room got its signals", every=0.2)
    shell.keys("?")
    shell.until("Move down one row")
