"""Dialogs that choose from a list: one thing, several, or a command by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.fuzzy import Matcher
from textual.screen import ModalScreen
from textual.widgets import Input

from core.text import Shown
from core.views.cells import Cell, Column, Row, Span, Table
from tui.app_access import app_of
from tui.panes.table import TablePane

_ESCAPE: list[BindingType] = [Binding("escape,q", "give_up", show=False)]
_MOST = 200
"""Entries of the palette that are drawn."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a list."""

    name: str
    title: Shown
    is_chosen: bool = False


class ChoicePane(TablePane):
    """The list within a dialog."""

    def __init__(self) -> None:
        super().__init__("", id="choices", has_titles=False)


class Choose(ModalScreen[str | None], inherit_bindings=False):
    """Choose one of a list; None: nothing was chosen."""

    BINDINGS = _ESCAPE
    AUTO_FOCUS = "ChoicePane"

    def __init__(self, title: Shown, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        yield ChoicePane()

    def on_mount(self) -> None:
        """Draw the list with the cursor on what holds now."""
        pane = self.query_one(ChoicePane)
        pane.make_current(True)
        pane.styles.height = min(len(self._choices) + 2, max(app_of(self).size.height - 4, 5))
        pane.show(_table(self._title, self._choices, footer="Enter chooses"))
        for choice in self._choices:
            if choice.is_chosen:
                pane.move_to(choice.name)

    @on(TablePane.Opened)
    def _picked(self, message: TablePane.Opened) -> None:
        message.stop()
        self.dismiss(str(message.key))

    @on(TablePane.Moved)
    def _moved(self, message: TablePane.Moved) -> None:
        message.stop()

    def action_give_up(self) -> None:
        """Choose nothing."""
        self.dismiss(None)


class ChooseMany(ModalScreen[frozenset[str] | None], inherit_bindings=False):
    """Choose several of a list; None: all stays as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_ESCAPE,
        Binding("enter", "done", show=False, priority=True),
        Binding("space", "turn", show=False, priority=True),
    ]
    AUTO_FOCUS = "ChoicePane"

    def __init__(self, title: Shown, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title = title
        self._choices = tuple(choices)
        self._chosen = {choice.name for choice in choices if choice.is_chosen}

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
            Choice(each.name, each.title, each.name in self._chosen) for each in self._choices
        ]
        footer = "Space turns · Enter takes"
        self.query_one(ChoicePane).show(_table(self._title, choices, footer=footer))

    def action_turn(self) -> None:
        """Choose the entry under the cursor, or leave it out."""
        pane = self.query_one(ChoicePane)
        self._chosen ^= {str(pane.cursor_key)}
        self._draw()

    def action_done(self) -> None:
        """Take what is chosen."""
        self.dismiss(frozenset(self._chosen))

    def action_give_up(self) -> None:
        """Leave all as it is."""
        self.dismiss(None)


def _table(title: Shown, choices: Sequence[Choice], footer: str) -> Table[str]:
    columns = (
        Column(name="chosen", title=Shown(""), width=1),
        Column(name="title", title=Shown(""), grow=1),
    )
    rows = tuple(
        _row(
            choice.name,
            {
                "chosen": (Span(Shown("●" if choice.is_chosen else " "), "key"),),
                "title": (Span(choice.title, "plain"),),
            },
        )
        for choice in choices
    )
    return Table(columns=columns, rows=rows, title=title, footer=Shown(footer))


def _row(key: str, cells: dict[str, Cell]) -> Row[str]:
    return Row(key=key, cells=cells, sort={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """Something that the palette can do.

    Attributes:
        name: Typed after `:`.
        title: What it does, or what it opens.
        key: The key that does the same; empty for none.
        run: Does it.
    """

    name: str
    title: Shown
    key: str
    run: Callable[[], object]


class Palette(ModalScreen[Command | None], inherit_bindings=False):
    """Find a command, a machine or a task by what is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", show=False),
        Binding("ctrl+p", "give_up", show=False),
    ]
    AUTO_FOCUS = "Input"

    def __init__(self, commands: Sequence[Command]) -> None:
        super().__init__()
        self._commands = tuple(commands)

    def compose(self) -> ComposeResult:
        """Lay out the line and the list."""
        with Vertical(id="palette"):
            line = Input(placeholder="a command, a machine, a task", select_on_focus=False)
            line.cursor_blink = False
            yield line
            yield ChoicePane()

    def on_mount(self) -> None:
        """Draw everything there is."""
        pane = self.query_one(ChoicePane)
        pane.make_current(True)
        pane.styles.height = max(min(20, app_of(self).size.height - 6), 5)
        self._draw("")

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        self._draw(message.value)

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        typed = message.value.strip()
        exact = next((each for each in self._commands if each.name == typed), None)
        if exact is not None:
            self.dismiss(exact)
        else:
            self._take(self.query_one(ChoicePane).cursor_key)

    @on(TablePane.Opened)
    def _picked(self, message: TablePane.Opened) -> None:
        message.stop()
        self._take(message.key)

    @on(TablePane.Moved)
    def _moved(self, message: TablePane.Moved) -> None:
        message.stop()

    def _take(self, key: object) -> None:
        self.dismiss(next((each for each in self._commands if each.name == key), None))

    def on_key(self, event: events.Key) -> None:
        """Move in the list while the line keeps the keys."""
        moves = {
            "down": "action_down",
            "up": "action_up",
            "pagedown": "action_page_down",
            "pageup": "action_page_up",
        }
        if event.key in moves:
            event.stop()
            getattr(self.query_one(ChoicePane), moves[event.key])()

    def action_give_up(self) -> None:
        """Do nothing."""
        self.dismiss(None)

    def _draw(self, typed: str) -> None:
        found = _ranked(self._commands, typed.strip())[:_MOST]
        rows = tuple(
            _row(
                each.name,
                {
                    "name": (Span(Shown(each.name), "strong"),),
                    "title": (Span(each.title, "dim"),),
                    "key": (Span(Shown(each.key or " "), "key"),),
                },
            )
            for each in found
        )
        columns = (
            Column(name="name", title=Shown(""), width=12),
            Column(name="title", title=Shown(""), grow=1, width=20),
            Column(name="key", title=Shown(""), align="right"),
        )
        table: Table[Any] = Table(
            columns=columns,
            rows=rows,
            title=Shown("Commands"),
            footer=Shown(f"{len(found)} of {len(self._commands)}"),
            empty=Shown("nothing is called that"),
        )
        self.query_one(ChoicePane).show(table, context=typed)


def _ranked(commands: Sequence[Command], typed: str) -> list[Command]:
    if not typed:
        return list(commands)
    matcher = Matcher(typed)
    scored = [
        (max(matcher.match(each.name) * 1.5, matcher.match(each.title)), -index, each)
        for index, each in enumerate(commands)
    ]
    scored = [entry for entry in scored if entry[0] > 0]
    scored.sort(key=lambda entry: (entry[0], entry[1]), reverse=True)
    return [each for _, _, each in scored]
