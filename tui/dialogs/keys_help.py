"""The help: the keys that work where the operator is, from the live bindings."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from core.text import Shown
from core.views.cells import Span
from tui.keys import Key
from tui.of_app import app_of
from tui.panes.lines import LinesPane, TextLine

_KEY_ROOM = 14


class KeysHelp(ModalScreen[None], inherit_bindings=False):
    """What each key does here."""

    BINDINGS = [Binding("escape,q,question_mark,enter", "give_up", show=False)]
    AUTO_FOCUS = "LinesPane"

    def __init__(self, keys: Sequence[tuple[str, Key]]) -> None:
        super().__init__()
        self._lines = [_line(label, key) for label, key in keys]

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        yield LinesPane("", id="help")

    def on_mount(self) -> None:
        """Draw the page."""
        pane = self.query_one(LinesPane)
        pane.make_current(True)
        pane.styles.height = min(len(self._lines) + 2, max(app_of(self).size.height - 2, 5))
        pane.show(Shown("Keys"), self._lines, footer=(Span(Shown("Esc closes"), "dim"),))

    def action_give_up(self) -> None:
        """Close it."""
        self.dismiss(None)


def _line(label: str, key: Key) -> TextLine:
    return (Span(Shown(label.ljust(_KEY_ROOM)), "key"), Span(Shown(key.help), "plain"))
