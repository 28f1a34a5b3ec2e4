"""A pane: a frame that carries its digit, its title and its counts, and a body within."""

from dataclasses import dataclass

from rich.segment import Segment
from textual.geometry import Size
from textual.message import Message

from core.text import Shown
from core.views.cells import Span
from tui.app_access import app_of
from tui.panes.painted_widget import Line, PaintedWidget, fitted, width_of

FRAME = 2
"""Lines, and columns, that the frame takes."""


class Pane(PaintedWidget, can_focus=True):
    """A framed part of a screen that takes the keys while it is the current one."""

    @dataclass
    class Entered(Message):
        """The pane was given the keys."""

        pane: "Pane"

    def __init__(self, digit: str, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.digit = digit
        self.is_current = False
        self.where: tuple[int, int, int, int] | None = None
        """Where its screen put it: x, y, width, height."""

    def body(self, width: int, height: int) -> list[Line]:
        """Return the lines within the frame, each exactly `width` cells."""
        raise NotImplementedError

    def title_text(self) -> Shown:
        """Return what stands in the upper edge after the digit."""
        raise NotImplementedError

    def title_more(self) -> tuple[Span, ...]:
        """Return what follows the title in the upper edge."""
        return ()

    def footer_spans(self) -> tuple[Span, ...]:
        """Return what stands in the lower edge."""
        return ()

    @property
    def filter_text(self) -> str | None:
        """What it is filtered by; None: it can't be."""
        return None

    def filter_by(self, text: str) -> None:
        """Show what fits this filter alone; empty: all."""

    def name_in_bar(self) -> Shown:
        """Return its name where the panes take turns."""
        return self.title_text()

    @property
    def wanted_height(self) -> int:
        """Lines that would show everything, with the frame."""
        raise NotImplementedError

    @property
    def body_size(self) -> Size:
        """Room within the frame."""
        width, height = self.content_size
        return Size(max(width - FRAME - 1, 0), max(height - FRAME, 0))

    def make_current(self, is_current: bool) -> None:
        """Take the keys, or let them go."""
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
