"""Dialogs that ask where something is written, and whether over what is there."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.text import shown
from core.views.cells import Span
from tui.dialogs.dialog import Dialog, words


class FileNameDialog(Dialog[str | None]):
    """Ask for the name of a file; None: nothing is written."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", show=False)]

    def __init__(self, what: str, proposed: str) -> None:
        super().__init__(
            shown(f"Write {what}"),
            [(), words("To this file, which only you can read:"), ()],
            [("Enter", "write"), ("Esc", "leave it")],
            line=Input(proposed, select_on_focus=False),
        )

    @on(Input.Submitted)
    def _named(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)

    def action_give_up(self) -> None:
        """Write nothing."""
        self.dismiss(None)


class ReplaceFileDialog(Dialog[bool]):
    """Ask whether a file that is there is replaced. Only a `y` is a yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "replace", show=False),
        Binding("escape,n,enter", "give_up", show=False),
    ]

    def __init__(self, place: str) -> None:
        super().__init__(
            shown("Replace a file?"),
            [(), (Span(shown(place, 400), "strong"),), words("is there already."), ()],
            [("y", "replace it"), ("Esc", "leave it")],
        )

    def action_replace(self) -> None:
        """Replace it."""
        self.dismiss(True)

    def action_give_up(self) -> None:
        """Leave it as it is."""
        self.dismiss(False)
