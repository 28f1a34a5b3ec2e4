"""The action menu: actions for the selection, each with its letter or why it is unavailable."""

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from core.text import Shown
from core.views.actions.action_menu import MenuEntry
from core.views.cells import Cell, Column, Row, Span, Table
from tui.app_access import app_of
from tui.dialogs.choices import ChoicePane
from tui.dialogs.dialog import TextBlock
from tui.panes.table import TablePane

_COLUMNS = (
    Column(name="letter", title=Shown(""), width=1),
    Column(name="word", title=Shown(""), width=16),
    Column(name="help", title=Shown(""), grow=1, width=20, rank=1),
)
_ALL = "A"
_BELOW = 3
"""Lines under the list that describe the row under the cursor."""


class ActionMenu(ModalScreen[MenuEntry | None], inherit_bindings=False):
    """Choose an action. The result is its entry, or None.

    Args:
        title: Names the selection.
        choices: The entries.
        note: One line above the entries, or in their place; None for no line.
        every: Returns title and entries for all rows shown; None if all are selected.
        every_word: Describes these rows: `all 12 tasks shown`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+c", "give_up", show=False)]
    AUTO_FOCUS = "ChoicePane"

    def __init__(
        self,
        title: Shown,
        choices: Sequence[MenuEntry],
        *,
        note: Shown | None = None,
        every: Callable[[], tuple[Shown, Sequence[MenuEntry]]] | None = None,
        every_word: Shown | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)
        self._note = note
        self._every = every
        self._every_word = every_word
        self._pane, self._words = ChoicePane(), TextBlock(())

    def compose(self) -> ComposeResult:
        """Lay out the list and the description of its row."""
        with Vertical(id="menu"):
            yield self._pane
            yield self._words

    def on_mount(self) -> None:
        """Draw the list."""
        self._pane.make_current(True)
        self._words.styles.height = _BELOW
        self._draw()

    def on_resize(self) -> None:
        """Fit the list to the new size."""
        self._size_list()

    def _size_list(self) -> None:
        rows = len(self._pane.table.rows)
        room = max(app_of(self).size.height - _BELOW - 3, 5)
        self._pane.styles.height = min(max(rows, 1) + 2, room)

    def _draw(self) -> None:
        footer = "press its letter or Enter"
        if self._every is not None and self._every_word is not None:
            footer = f"{_ALL} for {self._every_word} · {footer}"
        self._pane.show(
            Table(
                columns=_COLUMNS,
                rows=tuple(self._rows()),
                title=self._title,
                footer=Shown(footer if self._choices else "Esc closes"),
                empty=self._note or Shown("no action applies here"),
            ),
            context=self._title,
        )
        self._size_list()
        self._describe()

    def _rows(self) -> Iterator[Row[int]]:
        heading = Shown("")
        for index, entry in enumerate(self._choices):
            if entry.heading and entry.heading != heading:
                heading = entry.heading
                blank = (Span(Shown(" ")),)
                cells: dict[str, Cell] = {"word": (Span(heading, "key"),)}
                yield _row(-index - 1, {"letter": blank, "help": blank, **cells})
            yield _row(index, _cells(entry))

    def _describe(self) -> None:
        entry = self._under_cursor()
        lines: list[Cell] = []
        if entry is not None and entry.why_not is not None:
            lines = [(Span(Shown("unavailable: "), "warning"), Span(entry.why_not, "warning"))]
        elif entry is not None:
            some = f" ({entry.some}; the rest is skipped)" if entry.some else ""
            lines = [(Span(entry.help), Span(Shown(some), "warning"))]
            if entry.is_destructive:
                lines.append(
                    (Span(Shown("can't be undone; needs a typed confirmation"), "warning"),)
                )
        if self._note is not None and self._choices:
            lines.insert(0, (Span(self._note, "warning"),))
        self._words.show(tuple(each for each in line if isinstance(each, Span)) for line in lines)

    def _under_cursor(self) -> MenuEntry | None:
        key = self._pane.cursor_key
        return self._choices[key] if isinstance(key, int) and key >= 0 else None

    def on_key(self, event: events.Key) -> None:
        """Take an entry by its letter; letters come before the keys that move the cursor."""
        if event.key in {"escape", "enter"}:
            return
        if event.character == _ALL and self._every is not None:
            event.stop()
            title, choices = self._every()
            self._title, self._choices = title, tuple(choices)
            self._every = None
            self._draw()
            return
        for entry in self._choices:
            if entry.letter and entry.letter == event.character:
                event.stop()
                self._take(entry)
                return

    @on(TablePane.RowOpened)
    def _picked(self, message: TablePane.RowOpened) -> None:
        message.stop()
        entry = self._under_cursor()
        if entry is not None:
            self._take(entry)

    @on(TablePane.CursorMoved)
    def _moved(self, message: TablePane.CursorMoved) -> None:
        message.stop()
        self._describe()

    def _take(self, entry: MenuEntry) -> None:
        if entry.why_not is None:
            self.dismiss(entry)
            return
        self._pane.move_to(self._choices.index(entry))
        self._describe()

    def action_give_up(self) -> None:
        """Do nothing."""
        self.dismiss(None)


def _row(key: int, cells: dict[str, Cell]) -> Row[int]:
    return Row(key=key, cells=cells, sort={})


def _cells(entry: MenuEntry) -> dict[str, Cell]:
    off = entry.why_not is not None
    about = entry.why_not or entry.help
    some = (Span(Shown(f"{entry.some}  "), "warning"),) if entry.some else ()
    return {
        "letter": (
            Span((entry.letter and Shown(entry.letter)) or Shown(" "), "dim" if off else "key"),
        ),
        "word": (Span(entry.word, "dim" if off else "strong"),),
        "help": (*some, Span(about, "dim")),
    }
