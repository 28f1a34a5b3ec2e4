"""A task: where it stands, its progress over time, its samples, its knobs and throughput."""

from typing import cast

from core.fleet import Fleet
from core.ids import TaskKey
from core.views.samples import samples_table
from core.views.task_page import task_page
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.plot import PlotPane
from tui.panes.table import TablePane
from tui.places import Place
from tui.screens.base import PanesScreen, put


class TaskScreen(PanesScreen):
    """One task."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.current = 2

    def make_panes(self) -> tuple[Pane, ...]:
        """Return the panes."""
        self.facts = PagePane("1", id="task-page")
        self.plot = PlotPane("2", id="task-plot")
        self.samples = TablePane("3", id="task-samples")
        self.knobs = PagePane("4", id="task-knobs")
        return (self.facts, self.plot, self.samples, self.knobs)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the task as it is known now."""
        key = cast("TaskKey", self.place)
        self.facts.show_page(task_page(fleet, key, now))
        task = fleet.tasks.get(key)
        self.samples.show(samples_table(fleet, key, now), context=key)
        self.plot.show(task.trail if task is not None else (), task)
        self.room_app.room.focus(key)

    def place_panes(self, width: int, height: int) -> None:
        """Facts on the left; plot, samples and knobs on the right."""
        left = min(max(width * 2 // 5, 50), width - 50)
        plot = min(12, height // 3)
        knobs = min(self.knobs.wanted_height, height // 4)
        put(self.facts, 0, 0, left, height)
        put(self.plot, left, 0, width - left, plot)
        put(self.samples, left, plot, width - left, height - plot - knobs)
        put(self.knobs, left, height - knobs, width - left, knobs)
