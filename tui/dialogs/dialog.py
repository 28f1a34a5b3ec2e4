"""The base of all dialogs: a box over the screen."""

from collections.abc import Iterable
from typing import TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.widgets import Input

from core.text import Shown
from core.views.cells import Span, TextLine
from tui.panes.lines import folded
from tui.panes.painted_widget import Line, PaintedWidget, fitted
from tui.terminal.key_queue import KeyHolder

ResultT = TypeVar("ResultT")


class TextBlock(PaintedWidget):
    """Lines of text, folded to the available width."""

    def __init__(self, lines: Iterable[TextLine]) -> None:
        super().__init__()
        self._text = tuple(lines)

    def show(self, lines: Iterable[TextLine]) -> None:
        """Replace the lines."""
        self._text = tuple(lines)
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the folded text at this width, in lines."""
        del container, viewport
        return sum(len(folded(line, max(width, 1))) for line in self._text)

    def paint(self, size: Size) -> list[Line]:
        """Return the folded lines."""
        parts = [part for line in self._text for part in folded(line, size.width)]
        return [tuple(fitted(self.segments(part), size.width, self.rich_style)) for part in parts]


class Dialog(KeyHolder, ModalScreen[ResultT], inherit_bindings=False):
    """A box over the screen: title, text, optionally an input, and its keys."""

    AUTO_FOCUS = "Input"

    def __init__(
        self,
        title: Shown,
        lines: Iterable[TextLine],
        keys: Iterable[tuple[str, str]],
        *,
        line: Input | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)
        self._keys = tuple(keys)
        self._input = line
        self._early: list[events.Key] | None = []

    def holds(self, key: events.Key) -> bool:
        """Keep keys that are typed before the dialog can take them; return False once it can."""
        if self._early is None:
            return False
        self._early.append(key)
        return True

    def on_screen_resume(self) -> None:
        """Handle the keys that were typed while it opened, once the focus is set."""
        self.call_after_refresh(self._take_early)

    def _take_early(self) -> None:
        early, self._early = self._early or [], None
        for key in early:
            again = events.Key(key.key, key.character)
            self.app.post_message(again)  # pyright: ignore[reportUnknownMemberType]

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        box = Vertical(classes="box")
        box.border_title = Content(self._title)
        with box:
            yield TextBlock(self._lines)
            if self._input is not None:
                self._input.cursor_blink = False
                yield self._input
            yield TextBlock([(), key_line(self._keys)])


def key_line(keys: Iterable[tuple[str, str]]) -> TextLine:
    """Return one line that lists keys, each with its word."""
    spans: list[Span] = []
    for key, word in keys:
        spans += [Span(Shown(key), "key"), Span(Shown(f" {word}   "), "dim")]
    return tuple(spans)


def text_line(text: str, tone: str = "plain") -> TextLine:
    """Return a line of literal text; text from a host must go through `shown` instead."""
    return (Span(Shown(text), tone),)  # type: ignore[arg-type]
