"""The callback with which slow steps of a launch report their progress."""

from collections.abc import Callable

OnProgress = Callable[[str], None]
"""Gets one short line of text at each step."""
