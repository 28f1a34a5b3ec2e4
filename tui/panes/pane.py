"""A pane: a frame with digit, title and footer around a body."""

from dataclasses import dataclass

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message

from core.text import Shown
from core.views.cells import Span
from tui.app_access import app_of
from tui.panes.painted_widget import Line, PaintedWidget, fitted, width_of

FRAME = 2
"""Height and width that the frame adds, in cells."""


class Pane(PaintedWidget, can_focus=True):
    """A framed part of a screen; the current pane has the focus."""

    @dataclass
    class Entered(Message):
        """The pane got the focus."""

        pane: "Pane"

    def __init__(self, digit: str, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.digit = digit
        self.is_current = False
        self.where: tuple[int, int, int, int] | None = None
        """Position and size set by its screen: x, y, width, height."""

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lines within the frame, each exactly `width` cells."""
        raise NotImplementedError

    def title_text(self) -> Shown:
        """Return the title, for the upper edge."""
        raise NotImplementedError

    def title_more(self) -> tuple[Span, ...]:
        """Return the text after the title."""
        return ()

    def footer_spans(self) -> tuple[Span, ...]:
        """Return the text of the lower edge."""
        return ()

    @property
    def filter_text(self) -> str | None:
        """The filter; None if the pane can't be filtered."""
        return None

    def filter_by(self, text: str) -> None:
        """Show only what matches this filter; an empty filter shows all."""

    def name_in_bar(self) -> Shown:
        """Return its name in the pane bar."""
        return self.title_text()

    @property
    def wanted_height(self) -> int:
        """Height that shows everything, with the frame."""
        raise NotImplementedError

    @property
    def body_size(self) -> Size:
        """Size within the frame."""
        width, height = self.content_size
        return Size(max(width - FRAME - 1, 0), max(height - FRAME, 0))

    def make_current(self, is_current: bool) -> None:
        """Draw it as the current pane, or not."""
        if is_current != self.is_current:
            self.is_current = is_current
            self.redraw()

    def paint(self, size: Size) -> list[Line]:
        """Return the frame with the body in it."""
        edge = self.style_of("key" if self.is_current else "frame")
        inner = self.body_size
        if inner.width < 1 or inner.height < 1:
            return []
        lines = [self._top(size.width)]
        body = self.body(inner.width, inner.height)[: inner.height]
        blank = (Segment(" " * inner.width, self.base_style),)
        body.extend([blank] * (inner.height - len(body)))
        space = Segment(" ", self.base_style)
        lines.extend((Segment("│", edge), *line, space, Segment("│", edge)) for line in body)
        lines.append(self._bottom(size.width))
        return lines

    def on_focus(self) -> None:
        """Tell the screen."""
        self.post_message(self.Entered(self))

    def _top(self, width: int) -> Line:
        edge = self.style_of("key" if self.is_current else "frame")
        text = [
            Segment(
                f" {self.digit} " if self.digit else " ",
                edge if self.is_current else self.style_of("dim"),
            ),
            Segment(self.title_text(), self.style_of("title")),
            *self.segments(self.title_more()),
            Segment(" ", edge),
        ]
        stroke = "═" if self.is_current and app_of(self).native_ansi_color else "─"
        room = width - 3
        text = text if width_of(text) <= room else fitted(text, room, self.base_style)
        rest = room - width_of(text)
        return (Segment("┌" + stroke, edge), *text, Segment(stroke * rest + "┐", edge))

    def _bottom(self, width: int) -> Line:
        edge = self.style_of("key" if self.is_current else "frame")
        spans = self.footer_spans()
        if not spans:
            return (Segment("└" + "─" * (width - 2) + "┘", edge),)
        text = self.segments((Span(Shown(" ")), *spans, Span(Shown(" "))))
        room = width - 4
        text = text if width_of(text) <= room else fitted(text, room, self.base_style)
        left = width - 3 - width_of(text)
        return (Segment("└" + "─" * left, edge), *text, Segment("─┘", edge))
