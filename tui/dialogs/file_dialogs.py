"""Dialogs that ask for the name of a file, and whether to replace an existing one."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.text import shown
from core.views.cells import Span
from tui.dialogs.dialog import Dialog, text_line


class FileNameDialog(Dialog[str | None]):
    """Ask for the name of a file. The result is None when nothing is to be written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", show=False),
        Binding("ctrl+c", "give_up", show=False, priority=True),
    ]

    def __init__(self, what: str, proposed: str) -> None:
        super().__init__(
            shown(f"Write {what}"),
            [(), text_line("To this file; only you can read it:"), ()],
            [("Enter", "write"), ("Esc", "cancel")],
            line=Input(proposed, select_on_focus=False),
        )

    @on(Input.Submitted)
    def _named(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)

    def action_give_up(self) -> None:
        """Write nothing."""
        self.dismiss(None)


class ReplaceFileDialog(Dialog[bool]):
    """Ask whether to replace an existing file. Only `y` does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "replace", show=False),
        Binding("escape,n,enter,ctrl+c", "give_up", show=False),
    ]

    def __init__(self, place: str) -> None:
        super().__init__(
            shown("Replace the file?"),
            [(), (Span(shown(place, 400), "strong"),), text_line("already exists."), ()],
            [("y", "replace"), ("Esc", "cancel")],
        )

    def action_replace(self) -> None:
        """Replace it."""
        self.dismiss(True)

    def action_give_up(self) -> None:
        """Keep the file."""
        self.dismiss(False)
