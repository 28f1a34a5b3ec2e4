"""A dialog that asks for the value of a secret: masked, kept by its name, shown never again."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.text import shown
from core.views.cells import Span
from tui.dialogs.dialog import Dialog, words


class SecretValueDialog(Dialog[str | None]):
    """Ask for a secret's value; None: it stays as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", show=False)]

    def __init__(self, name: str) -> None:
        super().__init__(
            shown(f"The value of {name}", 100),
            [
                (),
                (Span(shown(name, 130), "strong"),),
                words("It is kept on this computer under that name: in its keyring or, where"),
                words("there is none, in a file that only you can read. No spec, plan or log"),
                words("holds it, and it is shown never again."),
                (),
            ],
            [("Enter", "keep it"), ("Esc", "not now")],
            line=Input(password=True, select_on_focus=False),
        )

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        self.dismiss(message.value or None)

    def action_give_up(self) -> None:
        """Keep nothing."""
        self.dismiss(None)
