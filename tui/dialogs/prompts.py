"""Dialogs that ask one thing: leave or stay, a passphrase, whether a host key is right."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.ids import MachineName
from core.text import Shown, shown
from core.views.cells import Span, TextLine
from tui.dialogs.dialog import Dialog, words

_STAY: list[BindingType] = [Binding("escape", "give_up", show=False)]


class LeaveDialog(Dialog[bool]):
    """Leave the room, or stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_STAY,
        Binding("enter,y,q", "leave", show=False),
        Binding("n", "give_up", show=False),
    ]

    def __init__(self, meaning: str) -> None:
        super().__init__(
            Shown("Leave the room?"),
            [(), (Span(shown(meaning, 400), "plain"),)],
            [("Enter", "leave"), ("Esc", "stay")],
        )

    def action_leave(self) -> None:
        """Leave."""
        self.dismiss(True)

    def action_give_up(self) -> None:
        """Stay."""
        self.dismiss(False)


class QuestionDialog(Dialog[str | None]):
    """Ask for a passphrase, a password, or another answer. It is kept nowhere."""

    BINDINGS = _STAY

    def __init__(self, prompt: str, *, is_seen: bool) -> None:
        super().__init__(
            Shown("A machine asks"),
            [(), (Span(shown(prompt, 400), "strong"),), ()],
            [("Enter", "answer"), ("Esc", "give up")],
            line=Input(password=not is_seen, select_on_focus=False),
        )

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)

    def action_give_up(self) -> None:
        """Answer nothing."""
        self.dismiss(None)


class TypedNameDialog(Dialog[bool]):
    """Say what something means; it is confirmed by typing a name, and by nothing else."""

    BINDINGS = _STAY

    def __init__(
        self,
        title: Shown,
        lines: Sequence[TextLine],
        keys: Sequence[tuple[str, str]],
        *,
        typed: str,
    ) -> None:
        self._typed_name = typed
        super().__init__(title, lines, keys, line=Input(select_on_focus=False))

    @on(Input.Submitted)
    def _typed(self, message: Input.Submitted) -> None:
        if message.value.strip() == self._typed_name:
            self.dismiss(True)
        else:
            message.input.value = ""
            message.input.placeholder = "that is another name"

    def action_give_up(self) -> None:
        """Leave it as it is."""
        self.dismiss(False)


class HostKeyDialog(TypedNameDialog):
    """Show the host key of a very handshake; it is accepted by typing the machine's name."""

    def __init__(self, machine: MachineName, address: str, fingerprint: str) -> None:
        super().__init__(
            Shown("An unknown host key"),
            [
                (),
                (Span(shown(machine), "strong"), Span(shown(f"  {address}"), "dim")),
                (Span(shown(fingerprint, 400), "look"),),
                (),
                words("Compare it with the machine's own, on its console or from who runs it:"),
                words("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", "dim"),
                words("Accepted, it is written to evalroom's own known_hosts, never to yours."),
                (),
                (Span(shown(f"Type {machine} to accept it."), "plain"),),
            ],
            [("Enter", "accept"), ("Esc", "leave it")],
            typed=machine,
        )
