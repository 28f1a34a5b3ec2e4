"""A sheet that takes keys only once what it asks was on screen for a moment."""

import time

from textual import events

from tui.dialogs.text_dialog import TextDialog

LOOK = 0.3
"""Seconds that something is on screen until a key can answer it."""
REPEAT = 0.15
"""Seconds within which another Enter is one that is held down: it answers nothing."""


class GuardedDialog(TextDialog):
    """A sheet whose keys, typed before what it asks was seen, are dropped; Esc always leaves."""

    def __init__(self) -> None:
        super().__init__()
        self._open_at = 0.0
        self._entered_at = float("-inf")

    @property
    def was_seen(self) -> bool:
        """Whether what is on screen was there for a moment."""
        return time.monotonic() >= self._open_at

    @property
    def takes_enter(self) -> bool:
        """Whether an Enter now would answer."""
        return self.was_seen and time.monotonic() - self._entered_at >= REPEAT

    def holds(self, key: events.Key) -> bool:
        """Drop what is typed too early, and what a key that is held down repeats."""
        if key.key != "enter":
            return key.key != "escape" and not self.was_seen
        now = time.monotonic()
        last, self._entered_at = self._entered_at, now
        return not self.was_seen or now - last < REPEAT

    def look_first(self) -> None:
        """Take no key from now until what is drawn next was on screen for a moment."""
        self._open_at = float("inf")

        def drawn() -> None:
            self._open_at = time.monotonic() + LOOK

        self.call_after_refresh(drawn)
