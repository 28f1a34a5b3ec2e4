"""The base of all screens: header, numbered panes, filter input, action bar, key bar."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult

from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.text import Shown, shown
from core.views.cells import Span
from core.views.header.totals import header_totals
from core.views.tables.findings import MARKS, MARKS_HELP
from core.views.tables.machines import marked_as, marks
from tui.arrangement import Arrangement
from tui.keys.bindings import bindings
from tui.keys.labels import labels
from tui.keys.table import BY_NAME
from tui.navigation import FindingPlace, GuidesPlace, JournalPlace, Place, RunsPlace, machine_of
from tui.panes.action_bar import ActionBar
from tui.panes.bars import HeaderBar, KeyBar, PaneBar
from tui.panes.pane import Pane
from tui.panes.pane_body import PaneBody
from tui.panes.table import TablePane
from tui.panes.too_small import TooSmall, is_too_small
from tui.screens.action_screen import ActionScreen
from tui.screens.ports import RoomUi
from tui.screens.time_left_cache import TimeLeftCache
from tui.terminal.changed_cells import CellsCompositor
from tui.terminal.textual_internals import use_compositor

if TYPE_CHECKING:
    from core.act.target_expansion import ActionPlace
    from core.model.finding import Finding

NARROW = 100
"""On narrower screens (columns) one pane is shown at a time."""
LOW = 20
"""On lower screens (lines) too."""
_BAR_WIDTH, _BAR_HEIGHT = 100, 24
"""The action bar is hidden on smaller screens: columns, lines."""
_REPLAY = Shown("replay")
"""Header prefix during a replay."""


class PanesScreen(ActionScreen, inherit_bindings=False):
    """A screen of numbered panes; the current one has the focus.

    Args:
        ui: The app.
        place: What the screen shows.
    """

    BINDINGS = bindings("panes")
    AUTO_FOCUS = ""
    ALLOW_SELECT = False

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui)
        use_compositor(self, CellsCompositor())
        self.place = place
        self.time_left = TimeLeftCache()
        self.panes: tuple[Pane, ...] = self.make_panes()
        self.current = 0
        self._header, self._pane_bar, self._key_bar = HeaderBar(), PaneBar(), KeyBar()
        self._too_small, self._body = TooSmall(), PaneBody(*self.panes, id="panes")

    # For subclasses

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the panes, in the order of their digits."""
        raise NotImplementedError

    def fill(self, fleet: Fleet, now: float) -> None:
        """Give the panes their content.

        Args:
            fleet: What is known.
            now: The time that ages are counted to, Unix seconds.
        """
        raise NotImplementedError

    def place_panes(self, width: int, height: int) -> None:
        """Lay out the panes when all of them are visible, in `width` x `height` cells."""
        raise NotImplementedError

    @property
    def shows_one_pane(self) -> bool:
        """Whether only the current pane is visible."""
        return self.size.width < NARROW or self.size.height < LOW

    def selected(self) -> Place:
        """Return the place under the cursor: a machine, a process, a task or a sample."""
        pane = self.panes[self.current]
        key = pane.cursor_key if isinstance(pane, TablePane) else None
        if isinstance(key, ProcessKey | TaskKey | SampleKey | str):
            return cast("Place", key)
        return self.place

    def commands(self) -> Iterable[str]:
        """Yield the names of this screen's own keys that can do something now."""
        return ()

    # For all screens

    def compose(self) -> ComposeResult:
        """Lay out header, panes and bars."""
        yield self._header
        yield self._pane_bar
        yield self._body
        yield self.filter_line
        yield self.action_bar
        yield self._key_bar
        yield self._too_small

    def on_mount(self) -> None:
        """Focus the current pane, and draw."""
        self.filter_line.display = False
        self._too_small.display = False
        self.enter(self.current)
        self.renew()

    def on_screen_resume(self) -> None:
        """Draw the changes from while another screen was on top."""
        self.renew()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new size."""
        del event
        self.call_after_refresh(self.renew)

    def renew(self) -> None:
        """Redraw everything from the current fleet."""
        if not self.is_mounted:
            return
        app = self.ui
        fleet, now = app.room.fleet, app.room.now()
        self.fill(fleet, now)
        self.lay_out()
        self._header.show(self._totals(fleet, now), now)
        self.say_keys()

    def tick(self) -> None:
        """Redraw the clock and the ages."""
        if self.is_mounted:
            app = self.ui
            now = app.room.now()
            self.fill(app.room.fleet, now)
            self._header.tick(now)

    def redraw_clock(self) -> None:
        """Redraw the clock only."""
        self._header.tick(self.ui.room.now())

    def _marks(self, fleet: Fleet) -> tuple[Span, ...]:
        """Return the tags of this place's machine, for the start of the header."""
        machine = fleet.machines.get(machine_of(self.place) or MachineName(""))
        if machine is None or not marks(machine):
            return ()
        return (*marks(machine), Span(shown(machine.name), "strong"), *marked_as(machine))

    def say_totals(self) -> None:
        """Redraw the header: the totals of orders may have changed."""
        if self.is_mounted:
            app = self.ui
            now = app.room.now()
            self._header.show(self._totals(app.room.fleet, now), now)

    def _totals(self, fleet: Fleet, now: float) -> list[tuple[Span, ...]]:
        app = self.ui
        totals = header_totals(fleet, now, self.controllers.order_totals())
        groups = [group for group in totals if group]
        marked = self._marks(fleet)
        if marked:
            groups.insert(0, marked)
        notice = app.notice or (_REPLAY if app.room.is_replay else Shown(""))
        return [(Span(notice, "warning"),), *groups] if notice else groups

    # Layout

    def lay_out(self) -> None:
        """Lay out the panes and bars for the current size."""
        width, height = self.size
        small = is_too_small(self.size)
        if self._too_small.display != small:
            self._too_small.display = small
            self._body.display = not small
            self._key_bar.display = not small
        bar = self._pane_bar
        bar.display = self.shows_one_pane and not small and len(self.panes) > 1
        self.action_bar.display = (
            not small and width >= _BAR_WIDTH and height >= _BAR_HEIGHT and self.controllers.can_act
        )
        if small:
            return
        height -= 2 + self.filter_line.display + bar.display + self.action_bar.display
        if self.shows_one_pane:
            for index, pane in enumerate(self.panes):
                pane.display = index == self.current
                put(pane, 0, 0, width, height)
            bar.show(
                (pane.digit, pane.name_in_bar(), index == self.current)
                for index, pane in enumerate(self.panes)
            )
        else:
            for pane in self.panes:
                pane.display = True
            self.place_panes(width, height)

    # Panes

    def restore(self, pane_id: str, arrangement: Arrangement) -> None:
        """Set the sort, filter and columns of a pane, before anything is drawn."""
        for pane in self.panes:
            if isinstance(pane, TablePane) and pane.id == pane_id:
                pane.arrangement = arrangement

    def arrangements(self) -> dict[str, Arrangement]:
        """Return sort, filter and columns of each pane, by its id."""
        tables = (pane for pane in self.panes if isinstance(pane, TablePane))
        return {str(pane.id): pane.arrangement for pane in tables}

    def enter(self, index: int) -> None:
        """Make a pane the current one, and focus it."""
        if not 0 <= index < len(self.panes):
            return
        self.current = index
        for each, pane in enumerate(self.panes):
            pane.make_current(each == index)
        if self.is_mounted:
            self.lay_out()
            # At once, not with the next message: a key typed right after belongs to this pane.
            self.set_focus(self.panes[index], scroll_visible=False)
        else:
            self.panes[index].focus(scroll_visible=False)
        self.say_keys()
        self.ui.remember()

    @on(Pane.Entered)
    def _entered(self, message: Pane.Entered) -> None:
        if message.pane in self.panes and self.panes.index(message.pane) != self.current:
            self.enter(self.panes.index(message.pane))

    @on(TablePane.CursorMoved)
    def _moved(self) -> None:
        self.say_keys()

    @on(TablePane.RowOpened)
    def _opened(self, message: TablePane.RowOpened) -> None:
        self.open(message.pane, message.key)

    def open(self, pane: TablePane, key: object) -> None:
        """Open a row of a pane."""
        del pane
        if isinstance(key, ProcessKey | TaskKey | SampleKey | str):
            self.ui.go(cast("Place", key))

    @on(TablePane.Arranged)
    def _arranged(self) -> None:
        self.ui.remember()

    def action_next_pane(self) -> None:
        """Go to the next pane; after the last one comes the action bar."""
        if self.current + 1 == len(self.panes) and self._enter_bar(last=False):
            return
        self.enter((self.current + 1) % len(self.panes))

    def action_previous_pane(self) -> None:
        """Go to the previous pane; before the first one comes the action bar."""
        if self.current == 0 and self._enter_bar(last=True):
            return
        self.enter((self.current - 1) % len(self.panes))

    def _enter_bar(self, *, last: bool) -> bool:
        bar = self.action_bar
        self.say_actions()
        if not bar.display or bar.is_empty:
            return False
        bar.enter(last=last)
        self.set_focus(bar, scroll_visible=False)
        return True

    @on(ActionBar.Pressed)
    def _pressed(self, message: ActionBar.Pressed) -> None:
        self.controllers.actions.take(message.entry)

    @on(ActionBar.Left)
    def _left_bar(self, message: ActionBar.Left) -> None:
        back = {1: 0, -1: len(self.panes) - 1}
        self.enter(back.get(message.way, self.current))

    def action_pane(self, digit: int) -> None:
        """Go to a pane by its digit."""
        self.enter(digit - 1)

    def action_back(self) -> None:
        """Clear the filter or the marks; if there are none, go back."""
        pane = self.panes[self.current]
        if pane.filter_text:
            pane.filter_by("")
        elif isinstance(pane, TablePane) and pane.marks:
            pane.marks.clear()
            pane.redraw()
        else:
            self.ui.back()

    # Keys that act on the selection

    def say_keys(self) -> None:
        """Redraw the key bar and the action bar."""
        if self.is_mounted:
            self._key_bar.show(self._bar_keys(), keeps_last=True)
            self.say_actions()

    def live_keys(self) -> Iterable[tuple[str, str]]:
        """Yield the keys that work here, each with what it does."""
        names = {active.binding.id for active in self.active_bindings.values()}
        for name, key in BY_NAME.items():
            if name == "pane_1":
                yield f"1-{len(self.panes)}", "Go to a pane by its digit."
            elif name in names and not name.startswith("pane_"):
                yield labels(self.ui.keys_of(name)), key.help
        if self.shows_findings:
            yield " ".join(MARKS.values()), MARKS_HELP

    def _bar_keys(self) -> Iterable[tuple[str, str]]:
        """Yield the keys of the bar, each with its word; Enter comes first."""
        return sorted(self._keys_in_bar(), key=lambda each: each[0] != "Enter")

    def _keys_in_bar(self) -> Iterable[tuple[str, str]]:
        available_keys = set(self.available_keys())
        for binding in self.active_bindings.values():
            key = BY_NAME.get(binding.binding.id or "")
            if key is not None and key.in_bar and key.name in available_keys:
                available_keys.discard(key.name)
                word = self.word_of(key.name) or key.word
                yield labels(self.ui.keys_of(key.name)).split(" ")[0], word

    def word_of(self, name: str) -> str | None:
        """Return the word for a key when it differs from the key's own."""
        return self.controllers.actions.word_of(name, self.targets()) if name == "pause" else None

    def available_keys(self) -> Iterable[str]:
        """Yield the names of the keys that can do something now."""
        pane = self.panes[self.current]
        yield from ("command", "help", "triage", "why")
        yield from (f"pane_{digit}" for digit in range(1, len(self.panes) + 1))
        if isinstance(pane, TablePane) and pane.rows:
            yield from ("open", "sort")
        if pane.filter_text is not None:
            yield "filter"
        if self.place is not None:
            yield "back"
        yield from self.controllers.places.available_keys(self.selected())
        yield from self.finding_keys(self.chosen_findings())
        targets = self.targets()
        if targets and self.controllers.can_act:
            yield from self.controllers.actions.available_keys(targets)
        if self.controllers.can_launch:
            yield "launch"
        yield from self.commands()

    def chosen_findings(self) -> "tuple[Finding, ...]":
        """Return the open findings that are selected, or that are about the selection."""
        return self.controllers.findings.about(self.selected())

    def targets(self) -> "tuple[ActionPlace, ...]":
        """Return the targets of an action: the marked rows, or the one under the cursor."""
        pane = self.panes[self.current]
        if isinstance(pane, TablePane) and pane.marks:
            return tuple(cast("ActionPlace", key) for key in pane.chosen_keys)
        place = self.selected()
        if place is None or isinstance(
            place, JournalPlace | GuidesPlace | RunsPlace | FindingPlace
        ):
            return ()
        return (place,)


def put(pane: Pane, x: int, y: int, width: int, height: int) -> None:
    """Set the position and size of a pane in cells, if they changed."""
    where = (x, y, max(width, 1), max(height, 1))
    if pane.where != where:
        pane.where = where
        pane.styles.offset = (x, y)
        pane.styles.width = where[2]
        pane.styles.height = where[3]
