"""The app in a real terminal: what it writes, and how it ends."""

import re
import signal
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.screen import Screen
from tests.support.terminal import Terminal
from tests.support.tree import ROOT
from tests.support.usage import Meter
from tests.support.waiting import WAIT_S, wait_until

GIVEN_BACK = b"\x1b[?1049l"
"""The end of the alternate screen: the terminal is as it was."""


@contextmanager
def room(kind: str, **env: str) -> Generator[Terminal, None, None]:
    """Open the room on a fleet of `tests.support.rooms` in a terminal of its own."""
    command = [sys.executable, "-m", "tests.support.rooms", kind]
    terminal = Terminal(
        command, cwd=ROOT, env={"LANG": "C.UTF-8", "NO_COLOR": "", "TMUX": "", **env}
    )
    try:
        yield terminal
    finally:
        terminal.close()


def without_sequences(output: bytes) -> str:
    """Return the output without the sequences that a Textual app writes by itself."""
    text = output.decode("utf-8", "strict")
    text = text.replace("\x1b]22;default\x07", "")  # the pointer's shape
    text = re.sub(r"\x1b\[[0-9;?>=<]*[ $]?[A-Za-z]", "", text)  # CSI: styles, moves, modes
    return re.sub(r"\x1b\]2;([^\x1b\x07]*)\x07", r"\1", text)  # our own title


WAY: tuple[tuple[str, str], ...] = (
    ("1", ""), ("\r", "2 Processes"), ("2", ""), ("\r", "h100-1 100"), ("\r", ""), ("1", ""),
    ("\x1b", "2 Processes"), ("\x1b", "2 Tasks"), ("3", ""), ("j", ""),
    ("\r", "1 Summary"), ("2", "─ 2 Events"), ("3", "─ 3 Messages"), ("4", "─ 4 Store"),
    ("!", ""), ("2", "result: ␛]52;c;RVZJTA==␇"), ("3", "─ 3 Messages"), ("4", "─ 4 Store"),
    ("1", "─ 1 Sample"), ("\x1b", "2 Tasks"), ("y", ""), (":", "─ Commands"),
    ("\x1b", "no ─ Commands"), ("?", "─ Keys"), ("\x1b", "no ─ Keys"), ("4", ""),
    ("\r", "3 Progress"), ("2", ""), ("\r", "2 Progress"), ("q", "Leave"),
)  # fmt: skip
"""Keys through every place, each with what stands on screen, or no more, after it."""


def test_hostile_text_of_every_field_reaches_the_terminal_harmless() -> None:
    with room("hostile") as terminal:
        terminal.until("]2;evalroom")
        screen, fed = Screen(120, 40), 0
        for key, words in WAY:
            terminal.type(key)

            def is_drawn(words: str = words) -> bool:
                nonlocal fed
                terminal.read(0.05)
                screen.feed(bytes(terminal.output[fed:]))
                fed = len(terminal.output)
                return (words.removeprefix("no ") in screen.text()) is not words.startswith("no ")

            wait_until(is_drawn, f"{words!r} after {key!r}", every=0.0, seen=screen.text)
        terminal.type("\r")
        terminal.wait_end()
        output = bytes(terminal.output)
    assert b"EVILTITLE" in output, "the text itself is shown"
    assert b"\x1b]52;c;RVZJTA" not in output
    assert b"\x1b]2;EVIL" not in output
    assert b"\x1b[2J" not in output
    assert b"\x1b]8;" not in output
    copied = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", output)
    assert len(copied) <= 2
    rest = without_sequences(re.sub(rb"\x1b\]52;c;[A-Za-z0-9+/=]*\x07", b"", output))
    controls = {hex(ord(char)) for char in rest if ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F}
    assert controls <= {hex(ord("\r")), hex(ord("\n"))}
    assert not set(rest) & set("\u202e\u2066\u200b\U000e0041\ufeff")


def test_an_idle_room_writes_nothing_and_costs_nothing() -> None:
    with room("busy") as terminal:
        terminal.until("evalroom: 1 down")
        meters: list[Meter] = []

        def is_silent() -> bool:
            meters.append(Meter(terminal.process.pid))
            return terminal.drain(3.0) == 0

        wait_until(is_silent, "it is silent for 3 s", every=0.0, seen=terminal.screen)
        assert meters[-1].share() < 0.1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_a_signal_ends_it_with_the_terminal_given_back(number: signal.Signals) -> None:
    with room("busy") as terminal:
        terminal.until("]2;evalroom")
        terminal.process.send_signal(number)
        assert terminal.wait_end() == 128 + number
        assert GIVEN_BACK in terminal.output
        assert b"\x1b[?25h" in terminal.output


@pytest.mark.parametrize("moment", [b"\x1b[?1049h", b"\x1b[?7l"], ids=["taken", "set"])
def test_a_signal_before_the_first_frame_gives_the_terminal_back_too(moment: bytes) -> None:
    with room("busy") as terminal:
        terminal.until(moment)
        terminal.process.send_signal(signal.SIGHUP)
        assert terminal.wait_end() == 128 + signal.SIGHUP
        assert GIVEN_BACK in terminal.output


@pytest.mark.parametrize("by", ["work", "a call"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_room_whose_loop_never_comes_back(
    number: signal.Signals, by: str, tmp_path: Path
) -> None:
    block = tmp_path / "block"
    with room("blocked", BLOCK_WHEN=str(block), BLOCKED_BY=by) as terminal:
        terminal.until("]2;evalroom")
        block.touch()

        def is_blocked() -> bool:
            terminal.read(0.05)
            return bool(block.read_text())

        wait_until(is_blocked, "it is blocked")
        terminal.process.send_signal(number)
        assert terminal.wait_end() == 128 + number
        assert GIVEN_BACK in terminal.output
        assert terminal.echoes()


def test_a_terminal_that_goes_away_ends_it_though_hangups_are_ignored() -> None:
    with room("busy", IGNORE_HANGUP="1") as terminal:
        terminal.until("]2;evalroom")
        terminal.hang_up()
        terminal.process.wait(WAIT_S)
        assert terminal.process.returncode


def test_a_crash_leaves_a_clean_terminal_a_short_panel_and_a_report_without_values(
    tmp_path: Path,
) -> None:
    fails, crash = tmp_path / "fail", tmp_path / "crash"
    with room("failing", FAIL_WHEN=str(fails), CRASH_FILE=str(crash)) as terminal:
        terminal.until("]2;evalroom")
        fails.touch()
        terminal.wait_end()
        panel = bytes(terminal.output).rpartition(GIVEN_BACK)[2]
        assert b"evalroom crashed: ValueError: broken by the test" in panel
        assert str(crash).encode() in panel
        assert len(panel) < 800
        assert b"CANARY" not in panel
        assert terminal.process.returncode == 1
    report = crash.read_text()
    assert "broken by the test" in report
    assert "CANARY-1" not in report


def test_a_terminal_that_stalls_does_not_stop_the_room() -> None:
    with room("busy") as terminal:
        terminal.until("]2;evalroom")
        for number in range(60):  # far more than the pty and the queue hold; nothing is read
            terminal.type("jk\t"[number % 3])
            terminal.resize(120 + number % 2, 40)
            time.sleep(0.02)
        terminal.process.send_signal(signal.SIGTERM)
        terminal.process.wait(WAIT_S)
        assert terminal.process.returncode


def test_without_colours_no_colour_is_sent() -> None:
    with room("busy", NO_COLOR="1") as terminal:
        terminal.shows("1 Machines")
        terminal.settle()
        styles = set(re.findall(rb"\x1b\[([0-9;]*)m", bytes(terminal.output)))
    numbers = {number for style in styles for number in style.split(b";") if number}
    assert numbers <= {b"0", b"1", b"2", b"7", b"39", b"49"}


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"LANG": "C", "LC_ALL": "C"}])
def test_a_plain_terminal_gets_ascii_alone(env: dict[str, str]) -> None:
    with room("busy", **env) as terminal:
        terminal.shows("+- 1 Machines")
        terminal.settle()
        assert bytes(terminal.output).isascii()
        assert b"+- 1 Machines" in without_sequences(bytes(terminal.output)).encode()


def test_a_terminal_of_16_colours_gets_those() -> None:
    with room("busy", TERM="xterm", COLORTERM="") as terminal:
        terminal.shows("1 Machines")
        terminal.until("\x1b[32")
        terminal.settle()
        assert b"38;2;" not in terminal.output
        assert b"38;5;" not in terminal.output
