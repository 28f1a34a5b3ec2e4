"""What controllers and dialogs may ask of the app."""

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from core.text import Shown
from tui.navigation import Place

if TYPE_CHECKING:
    from textual.screen import Screen

    from tui.terminal.foreground import ProgramEnd


T = TypeVar("T")


class Ui(Protocol):
    """The app, as far as controllers and dialogs know it."""

    def say(self, sentence: str, tone: str = "plain") -> None:
        """Show a sentence for a few seconds at the edge of the screen.

        Args:
            sentence: What happened, and what to do.
            tone: `plain`, `warning` or `error`.
        """
        ...

    def open(self, screen: "Screen[T]", then: Callable[[T | None], None] | None = None) -> None:
        """Put a dialog or a screen on top.

        Args:
            screen: The dialog.
            then: Called with the dialog's result once it is closed.
        """
        ...

    def go(self, place: Place) -> None:
        """Open the screen of a place."""
        ...

    def copy(self, text: Shown, what: str) -> None:
        """Send a text to the clipboard.

        Args:
            text: What is copied.
            what: What it is, for the message.
        """
        ...

    def background(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Run work in the background; its error is shown with this name."""
        ...

    def later(self, call: Callable[[], object]) -> None:
        """Call a function after the messages that wait now, such as the close of a dialog."""
        ...

    async def run_in_foreground(self, words: Sequence[str], line: Shown) -> "ProgramEnd | None":
        """Give the terminal to a program until it ends.

        Args:
            words: The program and its arguments.
            line: Printed first: what runs and why.

        Returns:
            None: the app has no terminal to give.
        """
        ...
