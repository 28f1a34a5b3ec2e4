"""Dialogs that ask one question: leave or stay, a passphrase, a host key, a typed name."""

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widgets import Input

from core.guide.leftover_removal import Removal
from core.ids import MachineName
from core.model.question import Question
from core.text import Shown, shown
from core.views.cells import Span, TextLine
from core.views.question_lines import question_lines, question_title
from tui.dialogs.dialog import Dialog, text_line

_STAY: list[BindingType] = [Binding("escape", "give_up", show=False)]
_GIVE_UP: list[BindingType] = [*_STAY, Binding("ctrl+c", "give_up", show=False, priority=True)]


class LeaveDialog(Dialog[bool]):
    """Ask whether to leave evalroom."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_STAY,
        Binding("enter,y,q", "leave", show=False),
        Binding("n", "give_up", show=False),
    ]

    def __init__(self, meaning: str) -> None:
        super().__init__(
            Shown("Leave evalroom?"),
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
    """Ask evalroom's own question, or a machine's; the answer is not stored.

    The result is None when the operator gave up.
    """

    BINDINGS = _GIVE_UP

    def __init__(self, question: Question) -> None:
        super().__init__(
            question_title(question),
            [(), *question_lines(question), ()],
            [("Enter", "answer"), ("Esc", "give up")],
            line=Input(password=not question.is_seen, select_on_focus=False),
        )

    @on(Input.Submitted)
    def _answered(self, message: Input.Submitted) -> None:
        self.dismiss(message.value)

    def action_give_up(self) -> None:
        """Give no answer."""
        self.dismiss(None)


class TypedNameDialog(Dialog[bool]):
    """Explain an action that only typing a name confirms.

    Args:
        title: Stands in the frame.
        lines: The explanation.
        keys: Each key with what it does.
        typed: The name to type.
    """

    BINDINGS = _GIVE_UP

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
            message.input.placeholder = "the name does not match"

    def action_give_up(self) -> None:
        """Do nothing."""
        self.dismiss(False)


class RemovalDialog(TypedNameDialog):
    """Preview the containers that a clean-up guide removes; typing its words confirms it."""

    def __init__(self, removal: Removal) -> None:
        super().__init__(
            removal.title,
            [
                (),
                *(text_line(line) for line in removal.lines),
                (),
                (Span(shown(f"Type {removal.words} to remove them."), "plain"),),
            ],
            [("Enter", "remove"), ("Esc", "cancel")],
            typed=removal.words,
        )


class HostKeyDialog(TypedNameDialog):
    """Show an unknown host key; typing the machine's name accepts exactly this key."""

    def __init__(self, machine: MachineName, address: str, fingerprint: str) -> None:
        super().__init__(
            Shown("Unknown host key"),
            [
                (),
                (Span(shown(machine), "strong"), Span(shown(f"  {address}"), "dim")),
                (Span(shown(fingerprint, 400), "warning"),),
                (),
                text_line(
                    "Compare it with the machine's own key, on its console or with its admin:"
                ),
                text_line("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub", "dim"),
                text_line(
                    "If you accept it, evalroom adds it to its own known_hosts, not to yours."
                ),
                (),
                (Span(shown(f"Type {machine} to accept it."), "plain"),),
            ],
            [("Enter", "accept"), ("Esc", "cancel")],
            typed=machine,
        )
