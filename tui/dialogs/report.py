"""Reports: triage of a part of the fleet, and why a sample or a process does what it does."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from core.text import Shown, shown
from core.views.cells import TextLine
from tui.dialogs.text_dialog import TextDialog
from tui.ui import Ui

MakeLines = Callable[[bool], tuple[list[TextLine], tuple[str, ...]]]
"""(whole fleet?) -> the lines of a report, and the commands that it proposes."""


class ReportDialog(TextDialog):
    """Shows a report. It changes nothing; its commands are copied with `y`.

    Args:
        ui: The app.
        title: What kind of report it is.
        name: What it is about; empty: the whole fleet.
        make: Makes the report from what is known at that moment.
        can_widen: Whether `a` makes it one on the whole fleet.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *TextDialog.BINDINGS,
        Binding("q,i,v", "leave", show=False),
        Binding("g", "again", show=False),
        Binding("a", "whole", show=False),
        Binding("y", "copy", show=False),
    ]

    def __init__(
        self, ui: Ui, title: Shown, name: Shown, make: MakeLines, *, can_widen: bool = False
    ) -> None:
        super().__init__()
        self._ui = ui
        self._title = title
        self._can_widen = can_widen and bool(name)
        self._subject = name
        self._make = make
        self._is_whole = not name
        self._report, self._commands = make(self._is_whole)

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        return self.composed()

    def on_mount(self) -> None:
        """Draw the report."""
        self.draw(from_top=True)

    def title_text(self) -> Shown:
        """Return the title."""
        return self._title if self._is_whole else shown(f"{self._title}: {self._subject}", 80)

    def head(self) -> Iterable[TextLine]:
        """Return no lines: all of it scrolls."""
        return ()

    def body(self) -> Iterable[TextLine]:
        """Return the report."""
        return self._report

    def foot(self) -> Iterable[TextLine]:
        """Return no lines."""
        return ()

    def keys(self) -> Iterable[tuple[str, str]]:
        """Return the keys that work now."""
        if self._commands:
            yield ("y", "copy the first command" if len(self._commands) > 1 else "copy the command")
        if self._can_widen:
            yield ("a", "only this" if self._is_whole else "the whole fleet")
        yield ("g", "refresh")
        yield ("Esc", "close")

    def action_again(self) -> None:
        """Make the report again from what is known now."""
        self._report, self._commands = self._make(self._is_whole)
        if self.is_mounted:
            self.draw()

    def action_whole(self) -> None:
        """Show the whole fleet, or only what was selected."""
        if not self._can_widen:
            return
        self._is_whole = not self._is_whole
        self._report, self._commands = self._make(self._is_whole)
        self.draw(from_top=True)

    def action_copy(self) -> None:
        """Copy the first command of the report."""
        if self._commands:
            self._ui.copy(Shown(self._commands[0]), "command")
