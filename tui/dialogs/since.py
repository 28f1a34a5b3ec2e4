"""The screen that says what changed since the operator looked; any key closes it."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from core.text import Shown
from core.views.cells import Span, TextLine
from tui.app_access import app_of
from tui.panes.lines import LinesPane

_CLOSES = Shown("any key closes this")


class SinceDialog(ModalScreen[None], inherit_bindings=False):
    """Lines about what changed.

    Args:
        title: Since when.
        lines: What changed.
    """

    BINDINGS = []
    AUTO_FOCUS = ""

    def __init__(self, title: Shown, lines: Sequence[TextLine]) -> None:
        super().__init__()
        self._heading = title
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        yield LinesPane("", id="since")

    def on_mount(self) -> None:
        """Draw the page."""
        pane = self.query_one(LinesPane)
        pane.make_current(True)
        pane.indent = 7
        self._draw()

    def show(self, title: Shown, lines: Sequence[TextLine]) -> None:
        """Say something newer in its place."""
        self._heading, self._lines = title, tuple(lines)
        if self.is_mounted:
            self._draw()
            self.call_after_refresh(self._fit)

    def _draw(self) -> None:
        pane = self.query_one(LinesPane)
        pane.show(self._heading, self._lines, footer=(Span(_CLOSES, "dim"),))

    def on_resize(self) -> None:
        """Fit the height to the lines, folded to the new width."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        pane = self.query_one(LinesPane)
        pane.styles.height = min(pane.wanted_height, max(app_of(self).size.height - 2, 5))

    def on_key(self, event: events.Key) -> None:
        """Close it."""
        event.stop()
        self.dismiss(None)
