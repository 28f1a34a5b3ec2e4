"""Dialogs that choose from a list: one thing, or several."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from core.text import Shown
from core.views.cells import Cell, Column, Row, Span, Table
from tui.app_access import app_of
from tui.panes.table import TablePane

_ESCAPE: list[BindingType] = [Binding("escape,q,ctrl+c", "give_up", show=False)]


KeyT = TypeVar("KeyT")


@dataclass(frozen=True, slots=True)
class Choice(Generic[KeyT]):
    """One entry of a list.

    Attributes:
        key: What choosing it means: the dialog returns it. Titles may be equal, keys are not.
        title: What is shown.
        is_chosen: Whether it is the current choice.
    """

    key: KeyT
    title: Shown
    is_chosen: bool = False


class ChoicePane(TablePane):
    """The list within a dialog."""

    def __init__(self) -> None:
        super().__init__("", id="choices", has_titles=False)


class ChoiceDialog(ModalScreen["KeyT | None"], Generic[KeyT], inherit_bindings=False):
    """Choose one entry of a list. The result is its key, or None."""

    BINDINGS = _ESCAPE
    AUTO_FOCUS = "ChoicePane"

    def __init__(self, title: Shown, choices: Sequence[Choice[KeyT]]) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        yield ChoicePane()

    def on_mount(self) -> None:
        """Draw the list with the cursor on the current choice."""
        pane = self.query_one(ChoicePane)
        pane.make_current(True)
        pane.styles.height = min(len(self._choices) + 2, max(app_of(self).size.height - 4, 5))
        pane.show(_table(self._title, self._choices, footer="Enter chooses"))
        for index, choice in enumerate(self._choices):
            if choice.is_chosen:
                pane.move_to(index)

    @on(TablePane.RowOpened)
    def _picked(self, message: TablePane.RowOpened) -> None:
        message.stop()
        if isinstance(message.key, int):
            self.dismiss(self._choices[message.key].key)

    @on(TablePane.CursorMoved)
    def _moved(self, message: TablePane.CursorMoved) -> None:
        message.stop()

    def action_give_up(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


class MultiChoiceDialog(
    ModalScreen["frozenset[KeyT] | None"], Generic[KeyT], inherit_bindings=False
):
    """Choose several entries of a list. The result is their keys, or None for no change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_ESCAPE,
        Binding("enter", "done", show=False, priority=True),
        Binding("space", "turn", show=False, priority=True),
    ]
    AUTO_FOCUS = "ChoicePane"

    def __init__(self, title: Shown, choices: Sequence[Choice[KeyT]]) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)
        self._chosen = {index for index, choice in enumerate(choices) if choice.is_chosen}

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        yield ChoicePane()

    def on_mount(self) -> None:
        """Draw the list."""
        pane = self.query_one(ChoicePane)
        pane.make_current(True)
        pane.styles.height = min(len(self._choices) + 2, max(app_of(self).size.height - 4, 5))
        self._draw()

    def _draw(self) -> None:
        choices = [
            Choice(each.key, each.title, index in self._chosen)
            for index, each in enumerate(self._choices)
        ]
        footer = "Space toggles · Enter confirms"
        self.query_one(ChoicePane).show(_table(self._title, choices, footer=footer))

    def action_turn(self) -> None:
        """Choose the entry under the cursor, or no longer."""
        key = self.query_one(ChoicePane).cursor_key
        if isinstance(key, int):
            self._chosen ^= {key}
            self._draw()

    def action_done(self) -> None:
        """Confirm the choice."""
        self.dismiss(frozenset(self._choices[index].key for index in self._chosen))

    def action_give_up(self) -> None:
        """Change nothing."""
        self.dismiss(None)


def _table(title: Shown, choices: Sequence[Choice[KeyT]], footer: str) -> Table[int]:
    columns = (
        Column(name="chosen", title=Shown(""), width=1),
        Column(name="title", title=Shown(""), grow=1),
    )
    rows = tuple(
        choice_row(
            index,
            {
                "chosen": (Span(Shown("●" if choice.is_chosen else " "), "key"),),
                "title": (Span(choice.title, "plain"),),
            },
        )
        for index, choice in enumerate(choices)
    )
    return Table(columns=columns, rows=rows, title=title, footer=Shown(footer))


def choice_row(key: int, cells: dict[str, Cell]) -> Row[int]:
    """Return a row of a list within a dialog; its key is the index of the entry."""
    return Row(key=key, cells=cells, sort={})
