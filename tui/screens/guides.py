"""The guides: open and recent ones, and the one under the cursor as its checklist."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import cast

from textual import on

from core.act.target_expansion import ActionPlace
from core.errors import StorageError
from core.fleet import Fleet
from core.guide.guide import Guide
from core.guide.runner import CAN_BE_SKIPPED, open_first
from core.text import Shown
from core.views.cells import Span
from core.views.tables.guides import guide_lines, guide_title, guides_table
from tui.keys.bindings import bindings
from tui.navigation import Place
from tui.panes.lines import LinesPane
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen, put
from tui.screens.ports import RoomUi, ScreenGuides

_EVERY = 10.0
"""Seconds between two looks at the guides of other evalrooms."""
_TWICE = 5.0
"""Seconds within which the key that leaves a guide is pressed again."""


class GuidesScreen(PanesScreen):
    """All guides of every evalroom of this user."""

    BINDINGS = bindings("guides")

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._kept: dict[str, Guide] = {}
        self._asked: tuple[str, float] | None = None
        self._unlisten: Callable[[], None] = lambda: None

    def make_panes(self) -> tuple[Pane, ...]:
        """Return the list and the checklist."""
        self.table = TablePane("1", id="guides")
        self.checklist = LinesPane("2", id="guide-steps")
        return (self.table, self.checklist)

    @property
    def guides(self) -> ScreenGuides | None:
        """What the keys go to; None: there are no guides here."""
        return self.controllers.guides

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the guides as they stand."""
        del fleet
        guides = self.guides
        if guides is not None:
            self._kept |= {guide.id: guide for guide in guides.guiding.held}
        self.table.show(guides_table(open_first(self._kept.values()), self._here(), now))
        if guides is not None and guides.newest is not None and self.table.move_to(guides.newest):
            guides.newest = None
        self._fill_checklist()
        self.ui.room.focus(None)

    def _here(self) -> frozenset[str]:
        guides = self.guides
        return frozenset(each.id for each in guides.guiding.held) if guides else frozenset()

    def _fill_checklist(self) -> None:
        guide = self.guide
        if guide is None:
            self.checklist.show(Shown("Steps"), ((Span(Shown("no guide is selected"), "dim"),),))
        else:
            lines = guide_lines(guide, is_here=guide.id in self._here())
            self.checklist.show(guide_title(guide), lines)

    def place_panes(self, width: int, height: int) -> None:
        """The list above, the checklist below."""
        upper = min(self.table.wanted_height, max(height // 3, 5))
        put(self.table, 0, 0, width, upper)
        put(self.checklist, 0, upper, width, height - upper)

    def on_mount(self) -> None:
        """Draw what is known, then read those of other evalrooms."""
        super().on_mount()
        guides = self.guides
        if guides is not None:
            self._unlisten = guides.guiding.listen(lambda _: self.renew())
        self._read_soon()
        self.set_interval(_EVERY, self._read_soon)

    def on_unmount(self) -> None:
        """Hear no more."""
        self._unlisten()

    def _read_soon(self) -> None:
        self.run_worker(self._read(), name="reading the guides", exit_on_error=False)

    async def _read(self) -> None:
        guides = self.guides
        if guides is None:
            return
        try:
            found = {guide.id: guide for guide in await guides.guiding.recent()}
        except StorageError as error:
            self.ui.say(f"guides can't be read: {error.message}", "look")
            return
        if found != self._kept:
            self._kept = found
            self.renew()

    @property
    def guide(self) -> Guide | None:
        """The guide under the cursor."""
        return self._kept.get(cast("str", self.table.cursor_key))

    def selected(self) -> Place:
        """Return nothing of the fleet: what acts on a selection does not work here."""
        return None

    def targets(self) -> tuple[ActionPlace, ...]:
        """Return nothing, as `selected`."""
        return ()

    def rows_shown(self) -> tuple[ActionPlace, ...]:
        """Return nothing, as `selected`."""
        return ()

    # Keys

    def able(self) -> Iterable[str]:
        """Rows are gone on with, not opened."""
        return (name for name in super().able() if name != "open")

    def commands(self) -> Iterator[str]:
        """Return the names of the keys that do something to the guide under the cursor."""
        guide = self.guide
        if guide is None:
            return
        is_here = guide.id in self._here()
        if guide.command:
            yield "copy"
        if guide.is_open and (guide.waits or not is_here):
            yield "guide_on"
        if guide.is_open and is_here:
            step = guide.step
            if guide.waits and step is not None and step.kind in CAN_BE_SKIPPED:
                yield "guide_skip"
            yield "guide_stop"

    @on(TablePane.CursorMoved)
    def _guide_moved(self) -> None:
        self._fill_checklist()

    def open(self, pane: TablePane, key: object) -> None:
        """Go on with the guide."""
        del pane, key
        self.action_guide_on()

    def action_guide_on(self) -> None:
        """Go on with the guide under the cursor."""
        guide, guides = self.guide, self.guides
        if guide is not None and guides is not None:
            guides.go_on(guide.id)

    def action_guide_skip(self) -> None:
        """Leave out the step that waits."""
        guide, guides = self.guide, self.guides
        if guide is not None and guides is not None:
            guides.skip(guide.id)

    def action_guide_stop(self) -> None:
        """Leave the guide for good; the key is pressed twice."""
        guide, guides, now = self.guide, self.guides, time.monotonic()
        if guide is None or guides is None or not guide.is_open:
            return
        if self._asked is not None and self._asked[0] == guide.id and now < self._asked[1]:
            self._asked = None
            guides.stop(guide.id)
            return
        self._asked = (guide.id, now + _TWICE)
        self.ui.say("once more leaves it for good; what was sent stays as it is", "look")

    def action_copy(self) -> None:
        """Send the command that resumes to the clipboard."""
        guide, guides = self.guide, self.guides
        if guide is not None and guides is not None:
            guides.copy(guide)
