"""The message for a terminal that is too small."""

from rich.segment import Segment
from textual.geometry import Size

from tui.panes.painted_widget import Line, PaintedWidget, cut, fitted


class TooSmall(PaintedWidget):
    """One sentence, cut to the available width."""

    def __init__(self) -> None:
        super().__init__(id="too-small")

    def paint(self, size: Size) -> list[Line]:
        """Return the sentence, vertically centred."""
        text = cut("terminal too small: needs 40x10", size.width)
        line = tuple(fitted([Segment(text, self.style_of("look"))], size.width, self.base_style))
        blank = (Segment(" " * size.width, self.base_style),)
        return [*([blank] * ((size.height - 1) // 2)), line]
