"""The terminal of the room."""

import os
import sys

from core.errors import UsageWrong


def has_terminal() -> bool:
    """Whether standard input and output are both a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def need_a_terminal() -> None:
    """Raise an error if there is no terminal.

    Raises:
        UsageWrong: Standard input or output is not a terminal.
    """
    if not has_terminal():
        raise UsageWrong(
            "the room needs a terminal for input and output",
            "without one, use evalroom status, watch, samples, sample or machines,"
            " also with --json",
        )


def trust_the_terminal() -> None:
    """Ignore the size that a shell exported: the terminal itself reports its current size."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
