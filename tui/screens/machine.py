"""The screen of a machine: its facts, its processes and their tasks."""

from dataclasses import replace
from typing import cast

from core.fleet import Fleet
from core.ids import MachineName
from core.text import Shown
from core.views.pages.machine_page import machine_page
from core.views.tables.processes import processes_table
from core.views.tables.tasks import tasks_table
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen, put


class MachineScreen(PanesScreen):
    """One machine."""

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the three panes."""
        self.facts = PagePane("1", id="machine-page", name_in_bar="Machine")
        self.processes = TablePane("2", id="processes", keeps_top=True)
        self.tasks = TablePane("3", id="machine-tasks", keeps_top=True)
        return (self.facts, self.processes, self.tasks)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the machine."""
        name = cast("MachineName", self.place)
        self.facts.show_page(machine_page(fleet, name, now), without=("Processes",))
        self.processes.show(processes_table(fleet, now, name))
        table = tasks_table(fleet, now, estimate=self.time_left)
        rows = tuple(row for row in table.rows if row.key.machine == name)
        self.tasks.show(replace(table, rows=rows, footer=Shown(str(len(rows)) if rows else "")))
        self.ui.room.focus(None)

    def place_panes(self, width: int, height: int) -> None:
        """Facts on the left, processes and tasks on the right."""
        left = min(max(width * 2 // 5, 56), width - 50)
        upper = min(self.processes.wanted_height, height // 2)
        put(self.facts, 0, 0, left, height)
        put(self.processes, left, 0, width - left, upper)
        put(self.tasks, left, upper, width - left, height - upper)
