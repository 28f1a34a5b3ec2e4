"""A dialog that ignores keys until its question has been on screen for a moment."""

import time

from textual import events

from tui.app_access import app_of
from tui.dialogs.text_dialog import TextDialog
from tui.panes.too_small import is_too_small

MIN_DISPLAY_S = 0.3
"""A question must be on screen for this long before a key can answer it."""
REPEAT_S = 0.15
"""An Enter this soon after another one comes from a key held down; it is ignored."""


_CLOSING = frozenset({"escape", "ctrl+c"})


class GuardedDialog(TextDialog):
    """A dialog that drops keys typed before its question could be read; Esc and ^c always work."""

    def __init__(self) -> None:
        super().__init__()
        self._open_at = 0.0
        self._entered_at = float("-inf")
        self._is_hidden = False

    @property
    def was_seen(self) -> bool:
        """Whether the question has been on screen long enough to be answered."""
        is_hidden = is_too_small(app_of(self).size)
        return not is_hidden and time.monotonic() >= self._open_at

    def holds(self, key: events.Key) -> bool:
        """Drop keys that are typed too early, and repeats of a key held down."""
        if key.key != "enter":
            return key.key not in _CLOSING and not self.was_seen
        now = time.monotonic()
        last, self._entered_at = self._entered_at, now
        return not self.was_seen or now - last < REPEAT_S

    def draw(self, *, from_top: bool = False) -> None:
        """Draw it; on a terminal that is too small no key answers the question."""
        was_hidden, self._is_hidden = self._is_hidden, is_too_small(app_of(self).size)
        super().draw(from_top=from_top)
        if was_hidden and not self._is_hidden:
            self.guard_keys()

    def guard_keys(self) -> None:
        """Ignore keys until the next drawing has been on screen for `MIN_DISPLAY_S`."""
        self._open_at = float("inf")

        def drawn() -> None:
            self._open_at = time.monotonic() + MIN_DISPLAY_S

        self.call_after_refresh(drawn)
