"""Says what changed since the operator looked, after a time away."""

import time
from collections.abc import Callable, Sequence

from textual import events

from core import format as fmt
from core.ports import Room
from core.text import Shown, shown
from core.views.cells import TextLine
from core.views.since import since_lines
from tui.dialogs.since import SinceDialog
from tui.ui import Ui

AWAY_S = 600.0
"""Seconds without a key after which the operator counts as away."""
REATTACHED_S = 60.0
"""The same for a terminal that changes its size, as when another one attaches to tmux."""


class SinceController:
    """Remembers what the operator saw last, and says what changed since.

    Args:
        ui: The app.
        room: The fleet.
        clock: Returns seconds of a clock that is never set.
    """

    def __init__(self, ui: Ui, room: Room, clock: Callable[[], float] = time.monotonic) -> None:
        self._ui = ui
        self._room = room
        self._clock = clock
        self._seen = room.fleet
        self._seen_at = room.now()
        self._looked = clock()
        self._told: tuple[Shown, Sequence[TextLine]] | None = None

    def takes(self, event: events.Event) -> bool:
        """Note that the operator is there; whether the event only brought the screen up.

        A key after a long time does that, and nothing else. A terminal that comes back does it,
        too, but is handled as ever.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            return self._returns(AWAY_S)
        if isinstance(event, events.AppFocus):
            self._returns(AWAY_S)
        elif isinstance(event, events.Resize) and not event.is_forwarded:
            self._returns(REATTACHED_S)
        return False

    def again(self) -> None:
        """Show again what was said last."""
        if self._told is None:
            self._ui.say("Nothing was told yet: you have not been away for 10 minutes.", "warning")
        else:
            self._ui.open(SinceDialog(*self._told))

    def _returns(self, away: float) -> bool:
        before, since = self._seen, self._seen_at
        lasted = self._clock() - self._looked
        self._seen, self._seen_at = self._room.fleet, self._room.now()
        self._looked = self._clock()
        if lasted < away:
            return False
        lines = since_lines(before, self._seen)
        if not lines:
            return False
        ago = fmt.duration_in_words(lasted)
        self._told = (shown(f"Since you looked, at {fmt.clock(since)} ({ago} ago)"), lines)
        self._ui.open(SinceDialog(*self._told))
        return True
