"""How long work of a launch reports its progress."""

from collections.abc import Callable

OnProgress = Callable[[str], None]
"""Gets one short line of text at each step."""
