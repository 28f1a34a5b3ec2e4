"""The command palette: finds a command, a machine or a task by its name."""

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
from core.views.cells import Column, Span, Table
from tui.app_access import app_of
from tui.dialogs.choices import ChoicePane, choice_row
from tui.dialogs.dialog import TextBlock
from tui.panes.table import TablePane

_MOST = 200
"""At most this many entries are drawn."""
_BELOW = 2
"""Lines under the list with the whole description of the row under the cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaletteCommand:
    """One entry of the palette.

    Attributes:
        name: Typed after `:`.
        title: What the command does or opens.
        key: The key that does the same; empty if no key does.
        run: Does it.
    """

    name: str
    title: Shown
    key: str
    run: Callable[[], object]


class PaletteDialog(ModalScreen[PaletteCommand | None], inherit_bindings=False):
    """Find a command, a machine or a task by typing. The result is the command, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", show=False),
        Binding("ctrl+c", "give_up", show=False, priority=True),
        Binding("ctrl+p", "give_up", show=False),
    ]
    AUTO_FOCUS = "Input"

    def __init__(self, commands: Sequence[PaletteCommand]) -> None:
        super().__init__()
        self._commands = tuple(commands)
        self._words = TextBlock(())

    def compose(self) -> ComposeResult:
        """Lay out the input and the list."""
        with Vertical(id="palette"):
            line = Input(placeholder="a command, a machine, a task", select_on_focus=False)
            line.cursor_blink = False
            yield line
            yield ChoicePane()
            yield self._words

    def on_mount(self) -> None:
        """Draw all commands."""
        pane = self.query_one(ChoicePane)
        pane.make_current(True)
        pane.styles.height = max(min(20, app_of(self).size.height - 6 - _BELOW), 5)
        self._words.styles.height = _BELOW
        self._draw("")

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        self._draw(message.value)

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        typed = message.value.strip()
        exact = [each for each in self._commands if each.name == typed]
        if len(exact) == 1:
            self.dismiss(exact[0])
        else:  # of several with that name, the one under the cursor
            self._take(self.query_one(ChoicePane).cursor_key)

    @on(TablePane.RowOpened)
    def _picked(self, message: TablePane.RowOpened) -> None:
        message.stop()
        self._take(message.key)

    @on(TablePane.CursorMoved)
    def _moved(self, message: TablePane.CursorMoved) -> None:
        message.stop()
        self._describe()

    def _describe(self) -> None:
        key = self.query_one(ChoicePane).cursor_key
        under = self._commands[key] if isinstance(key, int) else None
        self._words.show(() if under is None else ((Span(under.title),),))

    def _take(self, key: object) -> None:
        self.dismiss(self._commands[key] if isinstance(key, int) else None)

    def on_key(self, event: events.Key) -> None:
        """Move in the list while the input keeps the focus."""
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
            choice_row(
                index,
                {
                    "name": (Span(Shown(each.name), "strong"),),
                    "title": (Span(each.title, "dim"),),
                    "key": (Span(Shown(each.key or " "), "key"),),
                },
            )
            for index, each in found
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
            footer=Shown(f"{len(found)} of {len(self._commands)} match" if typed.strip() else ""),
            empty=Shown("no match"),
        )
        self.query_one(ChoicePane).show(table, context=typed)
        self._describe()


def _ranked(commands: Sequence[PaletteCommand], typed: str) -> list[tuple[int, PaletteCommand]]:
    """Return the commands that fit, best first, each with its index: several can have one name."""
    if not typed:
        return list(enumerate(commands))
    matcher = Matcher(typed)
    scored = [
        (max(matcher.match(each.name) * 1.5, matcher.match(each.title)), -index, each)
        for index, each in enumerate(commands)
    ]
    scored = [entry for entry in scored if entry[0] > 0]
    scored.sort(key=lambda entry: (entry[0], entry[1]), reverse=True)
    return [(-index, each) for _, index, each in scored]
