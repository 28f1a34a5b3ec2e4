"""The scrolling text of a dialog."""

from collections.abc import Iterable

from textual.geometry import Size
from textual.message import Message

from core.views.cells import TextLine
from tui.panes.lines import folded
from tui.panes.painted_widget import Line, PaintedWidget, fitted

_INDENT = 2
"""Indent of the folded part of a line, in cells."""


class ScrollingLines(PaintedWidget):
    """Folded lines; the keys of the dialog scroll them."""

    class Resized(Message):
        """The widget was resized, so other lines are in view."""

    def __init__(self) -> None:
        super().__init__()
        self._text: tuple[TextLine, ...] = ()
        self.top = 0
        """Index of the first line in view."""

    def show(self, lines: Iterable[TextLine], *, from_top: bool = False) -> None:
        """Replace the lines; the view stays, or goes to the top."""
        self._text = tuple(lines)
        if from_top:
            self.top = 0
        self.scroll(0)

    def height_at(self, width: int) -> int:
        """Return the number of folded lines at this width."""
        return len(self._folded(width))

    def scroll(self, lines: int) -> None:
        """Scroll."""
        most = self.height_at(self.content_size.width) - self.content_size.height
        self.top = max(0, min(self.top + lines, most))
        self.redraw()

    def reach(self, line: int) -> None:
        """Scroll just enough to show a line."""
        height = self.content_size.height
        if line < self.top:
            self.scroll(line - self.top)
        elif line >= self.top + height:
            self.scroll(line - self.top - height + 1)

    @property
    def page(self) -> int:
        """Lines of a page."""
        return max(self.content_size.height - 1, 1)

    @property
    def in_view(self) -> tuple[int, int, int] | None:
        """The first and last line in view and how many there are; None: all are in view."""
        of, height = self.height_at(self.content_size.width), self.content_size.height
        if of <= height:
            return None
        return self.top + 1, min(self.top + height, of), of

    def on_resize(self) -> None:
        """Stay within the text at the new size."""
        super().on_resize()
        self.scroll(0)
        self.post_message(self.Resized())

    def paint(self, size: Size) -> list[Line]:
        """Return the lines in view."""
        return [
            tuple(fitted(self.segments(line), size.width, self.base_style))
            for line in self._folded(size.width)[self.top : self.top + size.height]
        ]

    def _folded(self, width: int) -> list[TextLine]:
        return [part for line in self._text for part in folded(line, max(width, 1), _INDENT)]
