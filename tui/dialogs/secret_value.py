"""A dialog that asks for the value of a secret; the input is masked."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.text import shown
from core.views.cells import Span
from tui.dialogs.dialog import Dialog, text_line


class SecretValueDialog(Dialog[str | None]):
    """Ask for the value of a secret. The result is None when nothing was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", show=False),
        Binding("ctrl+c", "give_up", show=False, priority=True),
    ]

    def __init__(self, name: str) -> None:
        super().__init__(
            shown(f"Value of {name}", 100),
            [
                (),
                (Span(shown(name, 130), "strong"),),
                text_line(
                    "evalroom stores it on this computer under that name: in the keyring or,"
                ),
                text_line("without one, in a file that only you can read. Specs, plans and logs"),
                text_line("do not contain it, and it is never shown."),
                (),
            ],
            [("Enter", "store"), ("Esc", "not now")],
            line=Input(password=True, select_on_focus=False),
        )

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        self.dismiss(message.value or None)

    def action_give_up(self) -> None:
        """Store nothing."""
        self.dismiss(None)
