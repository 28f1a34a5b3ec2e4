"""Says what changed since the operator looked, after a time away and after a restart."""

import time
from collections.abc import Callable, Sequence

from textual import events

from core import format as fmt
from core.ports import Room
from core.text import Shown, shown
from core.views.cells import TextLine
from core.views.look import Look, look_at, look_of_json, look_to_json
from core.views.since import since_lines
from tui.dialogs.since import SinceDialog
from tui.services import ViewStore
from tui.ui import Ui

AWAY_S = 600.0
"""Seconds without a key after which the operator counts as away."""
REATTACHED_S = 60.0
"""The same for a terminal that changes its size, as when another one attaches to tmux."""
SETTLE_S = 5.0
"""After a restart, seconds from the first poll in which old findings may close."""
POLL_WAIT_S = 30.0
"""After a restart, the longest wait for the first poll and for that, seconds."""
TYPING_S = 5.0
"""Seconds after a key in which nothing opens by itself: the next key would close it unread."""
SAVE_EVERY_S = 30.0
"""How often the last look is stored at most, seconds."""


class SinceController:
    """Remembers what the operator saw last, and says what changed since.

    Args:
        ui: The app.
        room: The fleet.
        clock: Returns seconds of a clock that is never set.
        looks: Keeps the last look between two starts; None: a restart is not bridged.
    """

    def __init__(
        self,
        ui: Ui,
        room: Room,
        clock: Callable[[], float] = time.monotonic,
        looks: ViewStore | None = None,
    ) -> None:
        self._ui = ui
        self._room = room
        self._clock = clock
        self._looks = None if room.is_replay else looks
        self._seen, self._seen_at = room.fleet, room.now()
        self._looked = self._began = clock()
        self._typed_at: float | None = None
        """When the last key came; None: none came yet."""
        self._polled_at: float | None = None
        """When the first poll was seen to be over."""
        self._saved_at = float("-inf")
        self._has_looked = False
        """Whether there is a look that is not stored yet."""
        self._told: tuple[Shown, Sequence[TextLine]] | None = None
        self._open: tuple[SinceDialog, Look] | None = None
        """The dialog that is open, and the look that it tells from."""
        stored = look_of_json(self._looks.load()) if self._looks is not None else None
        is_away = stored is not None and self._seen_at - stored.at >= AWAY_S
        self._before_start = stored if is_away else None
        """The look before this start, until what changed since is told."""

    def takes(self, event: events.Event) -> bool:
        """Note that the operator is there; whether the event only brought the screen up.

        A key after a long time does that, and nothing else. A terminal that comes back does it,
        too, but is handled as ever.
        """
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._typed_at = self._clock()
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

    def second(self, *, is_free: bool) -> None:
        """Say once what changed before this start, and store the last look; call it each second.

        Args:
            is_free: Whether no dialog is open.
        """
        if self._before_start is not None and self._is_settled():
            before, self._before_start = self._before_start, None
            is_typing = self._typed_at is not None and self._clock() - self._typed_at < TYPING_S
            self._tell(before, self._room.now() - before.at, opens=is_free and not is_typing)
        if self._clock() - self._saved_at >= SAVE_EVERY_S:
            self.save()

    def save(self) -> None:
        """Store the last look for the next start."""
        if self._looks is None or not self._has_looked or self._before_start is not None:
            return
        self._looks.save(look_to_json(look_at(self._seen, self._seen_at)))
        self._saved_at, self._has_looked = self._clock(), False

    def _is_settled(self) -> bool:
        now = self._clock()
        if self._polled_at is None and self._room.has_polled:
            self._polled_at = now
        if self._polled_at is not None and now - self._polled_at >= SETTLE_S:
            return True
        return now - self._began >= POLL_WAIT_S

    def _returns(self, away: float) -> bool:
        seen, seen_at = self._seen, self._seen_at
        lasted = self._clock() - self._looked
        self._seen, self._seen_at = self._room.fleet, self._room.now()
        self._looked = self._clock()
        self._has_looked = True
        if lasted < away or self._before_start is not None:
            return False
        return self._tell(look_at(seen, seen_at), lasted)

    def _tell(self, before: Look, lasted: float, *, opens: bool = True) -> bool:
        """Say what changed since a look; False: nothing did."""
        if self._open is not None:  # nobody has read it yet: it says all of it
            before = self._open[1]
            lasted = self._room.now() - before.at
        lines = since_lines(before, self._room.fleet)
        if not lines:
            return False
        ago = fmt.duration_in_words(lasted)
        self._told = (shown(f"Since you looked, at {fmt.clock(before.at)} ({ago} ago)"), lines)
        if self._open is not None:
            self._open[0].show(*self._told)
        elif opens:
            dialog = SinceDialog(*self._told)
            self._open = (dialog, before)
            self._ui.open(dialog, self._dismissed)
        else:
            self._ui.say(f"Press L to see what changed since {fmt.clock(before.at)}.")
        return True

    def _dismissed(self, _: None) -> None:
        self._open = None
