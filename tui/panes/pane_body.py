"""The part of a screen that holds its panes."""

from textual.containers import Container

from tui.terminal.textual_internals import forget_strips


class PaneBody(Container):
    """Holds the panes of a screen."""

    def on_unmount(self) -> None:
        """Forget the lines that it drew."""
        forget_strips(self)
