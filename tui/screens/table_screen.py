"""A screen with keys that filter and sort its current pane, and choose columns."""

from dataclasses import replace

from textual import events, on
from textual.screen import Screen
from textual.widgets import Input

from core.text import Shown
from tui.dialogs.choices import Choice, ChoiceDialog, MultiChoiceDialog
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.ports import RoomUi

_NO_ROOM = "  (does not fit now)"
_OF_TABLES = frozenset({"sort", "columns"})


class TableScreen(Screen[None], inherit_bindings=False):
    """A screen of panes; the current one can be filtered, sorted and given other columns.

    Args:
        ui: The app.
    """

    panes: tuple[Pane, ...]
    current: int

    def __init__(self, ui: RoomUi) -> None:
        super().__init__()
        self.ui = ui
        self.controllers = ui.controllers
        self.filter_line = Input(id="filter", select_on_focus=False)
        self.filter_line.cursor_blink = False

    def lay_out(self) -> None:
        """Lay out the panes and bars for the current size."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key works here: only tables are sorted, only some panes filtered."""
        pane = self.panes[self.current]
        if action == "filter":
            return pane.filter_text is not None
        if action in _OF_TABLES:
            return isinstance(pane, TablePane)
        return super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Open the filter input for the current pane."""
        text = self.panes[self.current].filter_text
        if text is None:
            return
        line = self.filter_line
        line.display = True
        line.value = text
        line.cursor_position = len(line.value)
        # At once, not with the next message: a key typed right after belongs to the filter.
        self.set_focus(line)
        self.lay_out()

    @on(Input.Changed, "#filter")
    def _filter_typed(self, message: Input.Changed) -> None:
        if message.input.display:
            self.panes[self.current].filter_by(message.value)

    @on(Input.Submitted, "#filter")
    def _filter_done(self) -> None:
        self._close_filter()

    def on_key(self, event: events.Key) -> None:
        """Leave the filter input; Esc also clears the filter."""
        line = self.filter_line
        if line.has_focus and event.key in {"escape", "tab", "down", "up"}:
            if event.key == "escape":
                self.panes[self.current].filter_by("")
            event.stop()
            event.prevent_default()
            self._close_filter()

    def _close_filter(self) -> None:
        self.filter_line.display = False
        self.set_focus(self.panes[self.current], scroll_visible=False)
        self.lay_out()

    def action_sort(self) -> None:
        """Choose the column that sorts the current pane."""
        pane = self.panes[self.current]
        if not isinstance(pane, TablePane):
            return
        arrangement = pane.arrangement
        own = Choice("", Shown("default: trouble first"), is_chosen=arrangement.sort is None)
        choices = [
            Choice(column.name, column.title or Shown(column.name), column.name == arrangement.sort)
            for column in pane.table.columns
        ]

        def sort(name: str | None) -> None:
            if name is None:
                return
            again = name and name == pane.arrangement.sort
            is_reversed = not pane.arrangement.is_reversed if again else False
            pane.rearrange(replace(pane.arrangement, sort=name or None, is_reversed=is_reversed))

        self.ui.open(ChoiceDialog(Shown("Sort by"), (own, *choices)), sort)

    def action_columns(self) -> None:
        """Choose the columns of the current pane."""
        pane = self.panes[self.current]
        if not isinstance(pane, TablePane):
            return
        hidden, no_room = pane.arrangement.hidden, pane.left_out
        choices = tuple(
            Choice(
                column.name,
                Shown(f"{column.title or column.name}{_NO_ROOM * (column.name in no_room)}"),
                column.name not in hidden,
            )
            for column in pane.table.columns
        )

        def choose(names: frozenset[str] | None) -> None:
            if names is not None:
                gone = frozenset(each.key for each in choices) - names
                pane.rearrange(replace(pane.arrangement, hidden=gone))

        self.ui.open(MultiChoiceDialog(Shown("Columns"), choices), choose)
