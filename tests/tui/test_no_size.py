"""A terminal that knows no size, as some serial lines and new ptys."""

import sys

import pytest

from tests.support.terminal import Terminal
from tests.support.tree import ROOT


@pytest.mark.parametrize(("columns", "lines"), [(0, 0), (80, 0)])
def test_a_terminal_without_a_size_gets_one_and_the_room_comes_to_rest(
    columns: int, lines: int
) -> None:
    terminal = Terminal(
        [sys.executable, "-m", "tests.support.rooms", "busy"],
        columns=columns,
        lines=lines,
        cwd=ROOT,
        env={"LANG": "C.UTF-8", "NO_COLOR": "", "TMUX": ""},
    )
    try:
        terminal.until("a100-us")
        terminal.settle()
        assert terminal.drain(1.0) < 20_000
        terminal.type("q")
        terminal.until("Leave")
        terminal.settle()
        terminal.type("\r")
        assert terminal.wait_end() == 0
    finally:
        terminal.close()
