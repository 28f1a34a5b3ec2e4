"""The message for a terminal that is too small."""

from rich.segment import Segment
from textual.geometry import Size

from tui.panes.painted_widget import Line, PaintedWidget, cut, fitted

MIN_WIDTH, MIN_HEIGHT = 40, 10
"""The smallest terminal that the room is drawn on, in columns and lines."""


def is_too_small(size: Size) -> bool:
    """Whether the room can't be drawn on a terminal of this size."""
    return size.width < MIN_WIDTH or size.height < MIN_HEIGHT


class TooSmall(PaintedWidget):
    """One sentence, cut to the available width."""

    def __init__(self) -> None:
        super().__init__(id="too-small")

    def paint(self, size: Size) -> list[Line]:
        """Return the sentence, vertically centred."""
        text = cut(f"terminal too small: needs {MIN_WIDTH}x{MIN_HEIGHT}", size.width)
        line = tuple(fitted([Segment(text, self.style_of("warning"))], size.width, self.base_style))
        blank = (Segment(" " * size.width, self.base_style),)
        return [*([blank] * ((size.height - 1) // 2)), line]
