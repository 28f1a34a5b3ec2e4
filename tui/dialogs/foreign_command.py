"""Shows a command that someone else wrote before it reaches the clipboard."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from core.text import Shown, shown
from core.views.cells import Span
from tui.dialogs.dialog import Dialog, text_line
from tui.ui import Ui

RECORDED = "Whoever made this recording"
"""The writer of every command of a recording."""
_SHOWN_LINES = 12
_LINE = 400


class ForeignCommandDialog(Dialog[bool]):
    """Show a command that someone else wrote. Only `y` copies it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", show=False),
        Binding("escape,n,enter", "give_up", show=False),
    ]

    def __init__(self, text: Shown, writer: str) -> None:
        lines = text.splitlines()
        cut = len(lines) > _SHOWN_LINES
        super().__init__(
            Shown("Someone else wrote this command"),
            [
                (),
                text_line(f"{writer} wrote it, not you. Read it before you paste it.", "error"),
                (),
                *((Span(shown(line, _LINE), "warning"),) for line in lines[:_SHOWN_LINES]),
                *([text_line(f"and {len(lines) - _SHOWN_LINES} more lines", "dim")] if cut else []),
                (),
            ],
            [("y", "copy it"), ("Esc", "cancel")],
        )

    def action_copy(self) -> None:
        """Copy it."""
        self.dismiss(True)

    def action_give_up(self) -> None:
        """Copy nothing."""
        self.dismiss(False)


def copy_foreign(ui: Ui, text: Shown, what: str, writer: str) -> None:
    """Copy a command of someone else, once the operator has seen who wrote it.

    Args:
        ui: The app.
        text: The command.
        what: What it is, for the message.
        writer: Who wrote it, as the subject of a sentence.
    """

    def answered(yes: bool | None) -> None:
        if yes:
            ui.copy(text, what)

    ui.open(ForeignCommandDialog(text, writer), answered)
