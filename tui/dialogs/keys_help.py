"""The help page: the keys that work on the current screen."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from core.text import Shown
from core.views.cells import Span, TextLine
from tui.app_access import app_of
from tui.panes.lines import LinesPane

_KEY_ROOM = 14


class KeysDialog(ModalScreen[None], inherit_bindings=False):
    """Lists keys.

    Args:
        keys: Each key with what it does.
    """

    BINDINGS = [Binding("escape,q,question_mark,f1,enter,ctrl+c", "give_up", show=False)]
    AUTO_FOCUS = "LinesPane"

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._lines = [_line(label, does) for label, does in keys]

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        yield LinesPane("", id="help")

    def on_mount(self) -> None:
        """Draw the page."""
        pane = self.query_one(LinesPane)
        pane.make_current(True)
        pane.indent = _KEY_ROOM
        pane.show(Shown("Keys"), self._lines, footer=(Span(Shown("Esc closes"), "dim"),))

    def on_resize(self) -> None:
        """Fit the height to the lines, folded to the new width."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        pane = self.query_one(LinesPane)
        pane.styles.height = min(pane.wanted_height, max(app_of(self).size.height - 2, 5))

    def action_give_up(self) -> None:
        """Close it."""
        self.dismiss(None)


def _line(label: str, does: str) -> TextLine:
    return (Span(Shown(label.ljust(_KEY_ROOM)), "key"), Span(Shown(does), "plain"))
