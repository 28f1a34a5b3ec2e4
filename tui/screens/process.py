"""The screen of a process: its facts and its tasks."""

from dataclasses import replace
from typing import cast

from core.fleet import Fleet
from core.ids import ProcessKey
from core.text import Shown
from core.views.pages.process_page import process_page
from core.views.tables.tasks import tasks_table
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen, put


class ProcessScreen(PanesScreen):
    """One process."""

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the two panes."""
        self.facts = PagePane("1", id="process-page", name_in_bar="Process")
        self.tasks = TablePane("2", id="process-tasks", keeps_top=True)
        return (self.facts, self.tasks)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the process."""
        key = cast("ProcessKey", self.place)
        self.facts.show_page(process_page(fleet, key, now), without=("Tasks",))
        table = tasks_table(fleet, now, estimate=self.time_left)
        rows = tuple(row for row in table.rows if row.key.process == key)
        self.tasks.show(replace(table, rows=rows, footer=Shown(str(len(rows)) if rows else "")))
        self.ui.room.focus(None)

    def place_panes(self, width: int, height: int) -> None:
        """Facts above, tasks below."""
        upper = min(self.facts.wanted_height, height - 6)
        put(self.facts, 0, 0, width, upper)
        put(self.tasks, 0, upper, width, height - upper)
