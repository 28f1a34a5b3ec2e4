"""The screen of guides: active and recent ones, and the checklist of the selected one."""

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

_READ_EVERY_S = 10.0
"""How often the guides of other evalroom instances are read."""
_TWICE_WITHIN_S = 5.0
"""The key that stops a guide must be pressed twice within this time."""


class GuidesScreen(PanesScreen):
    """All guides of this user, including those of other evalroom instances."""

    BINDINGS = bindings("guides")

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._kept: dict[str, Guide] = {}
        self._asked: tuple[str, float] | None = None
        self._unlisten: Callable[[], None] = lambda: None

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the list and the checklist."""
        self.table = TablePane("1", id="guides")
        self.checklist = LinesPane("2", id="guide-steps")
        self.checklist.indent = 2
        return (self.table, self.checklist)

    @property
    def guides(self) -> ScreenGuides | None:
        """Runs the guides; None if this room can run none."""
        return self.controllers.guides

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the guides."""
        del fleet
        guides = self.guides
        if guides is not None:
            self._kept |= {guide.id: guide for guide in guides.guiding.guides}
        self.table.show(guides_table(open_first(self._kept.values()), self._here(), now))
        if guides is not None and guides.newest is not None and self.table.move_to(guides.newest):
            guides.newest = None
        self._fill_checklist()
        self.ui.room.focus(None)

    def _here(self) -> frozenset[str]:
        guides = self.guides
        return frozenset(each.id for each in guides.guiding.guides) if guides else frozenset()

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
        """Draw, then read the guides of other instances."""
        super().on_mount()
        guides = self.guides
        if guides is not None:
            self._unlisten = guides.guiding.listen(lambda _: self.renew())
        self._read_soon()
        self.set_interval(_READ_EVERY_S, self._read_soon)

    def on_unmount(self) -> None:
        """Stop listening."""
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
            self.ui.say(f"Guides can't be read. {error.sentence}", "warning")
            return
        if found != self._kept:
            self._kept = found
            self.renew()

    @property
    def guide(self) -> Guide | None:
        """The guide under the cursor."""
        return self._kept.get(cast("str", self.table.cursor_key))

    def selected(self) -> Place:
        """Return None: actions don't apply to guides."""
        return None

    def targets(self) -> tuple[ActionPlace, ...]:
        """Return no target; see `selected`."""
        return ()

    def rows_shown(self) -> tuple[ActionPlace, ...]:
        """Return no target; see `selected`."""
        return ()

    # Keys

    def available_keys(self) -> Iterable[str]:
        """Yield `open` only for a guide that Enter continues."""
        goes_on = "guide_on" in set(self.commands())
        return (name for name in super().available_keys() if name != "open" or goes_on)

    def word_of(self, name: str) -> str | None:
        """Return `continue` for Enter on the list."""
        return "continue" if name == "open" else super().word_of(name)

    def commands(self) -> Iterator[str]:
        """Yield the names of the keys that can do something to the selected guide."""
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
        """Continue the guide."""
        del pane, key
        self.action_guide_on()

    def action_guide_on(self) -> None:
        """Preview the next step of the selected guide, or take it over."""
        guide, guides = self.guide, self.guides
        if guide is not None and guides is not None:
            guides.go_on(guide.id)

    def action_guide_skip(self) -> None:
        """Skip the step that waits."""
        guide, guides = self.guide, self.guides
        if guide is not None and guides is not None:
            guides.skip(guide.id)

    def action_guide_stop(self) -> None:
        """Stop the guide for good; the key must be pressed twice."""
        guide, guides, now = self.guide, self.guides, time.monotonic()
        if guide is None or guides is None or not guide.is_open:
            return
        if self._asked is not None and self._asked[0] == guide.id and now < self._asked[1]:
            self._asked = None
            guides.stop(guide.id)
            return
        self._asked = (guide.id, now + _TWICE_WITHIN_S)
        self.ui.say(
            "Press the key again to stop this guide for good. Sent orders stay as they are.",
            "warning",
        )

    def action_copy(self) -> None:
        """Copy the command that resumes."""
        guide, guides = self.guide, self.guides
        if guide is not None and guides is not None:
            guides.copy(guide)
