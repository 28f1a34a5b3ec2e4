"""Parts of a room that tests ask for."""

from tui.app import RoomApp
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen

WIDE = (140, 42)
"""Cells of a terminal that shows every pane."""


def table(app: RoomApp, name: str) -> TablePane:
    """Return a table of the screen in front by its name."""
    return app.screen.query_one(f"#{name}", TablePane)


def front(app: RoomApp) -> PanesScreen:
    """Return the screen in front, which has panes."""
    found = app.front
    assert found is not None
    return found
