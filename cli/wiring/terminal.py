"""The terminal of the room."""

import os
import sys

from core.errors import UsageWrong


def has_terminal() -> bool:
    """Whether standard input and output are both a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def can_show_room() -> bool:
    """Whether the room can be drawn: Textual draws on standard error."""
    return has_terminal() and sys.stderr.isatty()


def need_a_terminal() -> None:
    """Raise an error if the room can't be drawn.

    Raises:
        UsageWrong: Standard input, output or error is not a terminal.
    """
    if not can_show_room():
        raise UsageWrong(
            "the room needs a terminal for input, output and error output",
            "without one, use evalroom status, watch, samples, sample or machines,"
            " also with --json",
        )


def trust_the_terminal() -> None:
    """Ignore the size that a shell exported: the terminal itself reports its current size."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
