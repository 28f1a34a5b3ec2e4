"""The screen of a task: its facts, progress plot, samples, knobs and throughput."""

from typing import cast

from core.ctl.reads import read_task_config, read_throughput
from core.errors import EvalroomError
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.task import ProgressPoint, TaskState
from core.text import Shown, shown
from core.views.cells import Span
from core.views.pages.detail_lines import knob_sections, throughput_section
from core.views.pages.page import Fact, Page, Section
from core.views.pages.task_page import task_page
from core.views.tables.samples import lacks_rows, samples_table
from tui.navigation import Place
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.plot import PlotPane
from tui.panes.table import TablePane
from tui.screens.panes_screen import put
from tui.screens.polling_screen import PollingScreen
from tui.screens.ports import RoomUi


class TaskScreen(PollingScreen):
    """One task."""

    period = 15.0

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self.current = 2
        self._kept: tuple[ProgressPoint, ...] | None = None
        self._asked_for_rows = False

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the panes."""
        self.facts = PagePane("1", id="task-page", name_in_bar="Task")
        self.plot = PlotPane("2", id="task-plot")
        self.samples = TablePane("3", id="task-samples", keeps_top=True)
        self.knobs = PagePane("4", id="task-knobs")
        self._say_of_knobs("reading ...")
        return (self.facts, self.plot, self.samples, self.knobs)

    @property
    def key(self) -> TaskKey:
        """The task of this screen."""
        return cast("TaskKey", self.place)

    @property
    def read_from(self) -> ProcessKey:
        """The task's process."""
        return self.key.process

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the task."""
        self.facts.show_page(task_page(fleet, self.key, now, estimate=self.time_left))
        task = fleet.tasks.get(self.key)
        self.samples.show(samples_table(fleet, self.key, now), context=self.key)
        trail = task.trail if task is not None else ()
        self.plot.show(_joined(self._kept or (), trail), task)
        self.ui.room.focus(self.key)

    def place_panes(self, width: int, height: int) -> None:
        """Facts on the left; plot, samples and knobs on the right."""
        left = min(max(width * 2 // 5, 50), width - 50)
        plot = min(12, height // 3)
        knobs = min(self.knobs.wanted_height, height // 3)
        put(self.facts, 0, 0, left, height)
        put(self.plot, left, 0, width - left, plot)
        put(self.samples, left, plot, width - left, height - plot - knobs)
        put(self.knobs, left, height - knobs, width - left, knobs)

    async def read_current(self) -> bool:
        """Read the stored progress once; while the task runs, also its knobs and throughput."""
        room = self.ui.room
        if self._kept is None:
            self._kept = tuple(await room.progress(self.key))
            self.renew()
        task = room.fleet.tasks.get(self.key)
        if task is not None and not self._asked_for_rows and lacks_rows(task):
            self._asked_for_rows = True
            room.read_log(self.key)
        if task is None or task.state is not TaskState.RUNNING:
            self._say_of_knobs("knobs can be read only while the task runs")
            return task is not None
        sections = knob_sections(await read_task_config(self.read, self.key))
        try:
            rates = throughput_section(await read_throughput(self.read, self.key.process))
        except EvalroomError as error:
            # An older Inspect lacks this route; the knobs are shown anyway.
            rates = Section(Shown("Throughput"), (_words(self.sentence(error)),))
        self.knobs.show_page(Page(Shown("Knobs"), (*sections, rates)))
        self.renew()
        return True

    def show_error(self, sentence: Shown) -> None:
        """Show why the knobs can't be read."""
        self._say_of_knobs(sentence)
        self.renew()

    def _say_of_knobs(self, sentence: str) -> None:
        section = Section(Shown(""), (_words(sentence),))
        self.knobs.show_page(Page(Shown("Knobs and throughput"), (section,)))


def _words(sentence: str) -> Fact:
    return Fact(Shown(""), (Span(shown(sentence, 600), "dim"),))


def _joined(
    kept: tuple[ProgressPoint, ...], trail: tuple[ProgressPoint, ...]
) -> tuple[ProgressPoint, ...]:
    """Return the stored points that are older than the trail, then the trail."""
    if not trail:
        return kept
    return (*(point for point in kept if point.at < trail[0].at), *trail)
