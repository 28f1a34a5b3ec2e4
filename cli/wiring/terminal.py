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
            "the room needs a terminal on its input and output",
            "without one: evalroom status, watch, samples, sample or machines (with --json too)",
        )


def trust_the_terminal() -> None:
    """Forget sizes that a shell exported once: the terminal knows its own, also when it changes."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
