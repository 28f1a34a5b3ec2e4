"""The terminal that the room opens in."""

import os
import sys

from core.errors import UsageWrong


def has_terminal() -> bool:
    """Whether standard input and output are both a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def need_a_terminal() -> None:
    """Refuse to go on without a terminal.

    Raises:
        UsageWrong: Standard input or output is not a terminal.
    """
    if not has_terminal():
        raise UsageWrong(
            "the room needs a terminal for input and output",
            "use evalroom status, watch, samples, sample or machines without one, also with --json",
        )


def trust_the_terminal() -> None:
    """Drop the size that a shell exported: the terminal itself knows its current size."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
