"""The main screen: machines, tasks, the samples of the selected task, findings."""

from typing import TYPE_CHECKING, cast

from textual import on

from core.fleet import Fleet
from core.ids import TaskKey
from core.model.finding import Finding
from core.views.tables.findings import findings_table
from core.views.tables.machines import machines_table
from core.views.tables.samples import samples_table
from core.views.tables.tasks import tasks_table
from tui.navigation import FindingPlace, Place, Subject, subject_of
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen, put
from tui.screens.ports import RoomUi

if TYPE_CHECKING:
    from core.act.target_expansion import ActionPlace

_SAMPLES_LEAST = 7
_MACHINES_LEAST, _MACHINES_SHARE = 30, 0.27


class RoomScreen(PanesScreen):
    """The main screen: four panes."""

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the four panes."""
        self.machines = TablePane("1", id="machines", keeps_top=True)
        self.tasks = TablePane("2", id="tasks")
        self.samples = TablePane("3", id="samples", keeps_top=True)
        self.findings = TablePane("4", id="findings", has_titles=False, keeps_top=True)
        return (self.machines, self.tasks, self.samples, self.findings)

    def __init__(self, ui: RoomUi) -> None:
        super().__init__(ui, None)
        self.current = 1

    @property
    def shown_task(self) -> TaskKey | None:
        """The task whose samples are shown."""
        return cast("TaskKey | None", self.tasks.cursor_key)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the four tables."""
        self.machines.show(machines_table(fleet, now))
        self.tasks.show(tasks_table(fleet, now, estimate=self.time_left))
        self.samples.show(samples_table(fleet, self.shown_task, now), context=self.shown_task)
        self.findings.show(findings_table(fleet, now))
        self.ui.room.focus(self.shown_task)

    def place_panes(self, width: int, height: int) -> None:
        """Machines and tasks get the lines that their rows need; samples get the rest."""
        below = min(self.findings.wanted_height, max(4, height // 5))
        most = max(5, min((height * 9) // 20, height - below - _SAMPLES_LEAST))
        side = min(self.machines.wanted_width, max(_MACHINES_LEAST, int(width * _MACHINES_SHARE)))
        machines = min(self.machines.wanted_height, most)
        tasks = min(self.tasks.wanted_height, most)
        top = max(machines, tasks)
        put(self.machines, 0, 0, side, machines)
        put(self.tasks, side, 0, width - side, tasks)
        put(self.samples, 0, top, width, height - top - below)
        put(self.findings, 0, height - below, width, below)

    @property
    def shows_findings(self) -> bool:
        """Whether the findings have the focus."""
        return self.current == self.panes.index(self.findings)

    def selected(self) -> Place:
        """Return the place under the cursor; for a finding, its subject."""
        if self.shows_findings:
            return self._about(self.findings.cursor_key)
        return super().selected()

    def targets(self) -> "tuple[ActionPlace, ...]":
        """Return the targets of an action; for findings, their subjects."""
        if not self.shows_findings:
            return super().targets()
        keys = self.findings.chosen_keys
        about = (place for key in keys if (place := self._about(key)) is not None)
        return tuple(dict.fromkeys(about))

    def chosen_findings(self) -> tuple[Finding, ...]:
        """Return the open findings that are selected, or that are about the selection."""
        if not self.shows_findings:
            return super().chosen_findings()
        keys = set(self.findings.chosen_keys)
        return tuple(
            each for each in self.ui.room.fleet.findings if each.is_open and each.id in keys
        )

    def _about(self, key: object) -> Subject | None:
        findings = self.ui.room.fleet.findings
        finding = next((each for each in findings if each.id == key), None)
        return subject_of(finding) if finding is not None else None

    @on(TablePane.CursorMoved)
    def _task_moved(self, message: TablePane.CursorMoved) -> None:
        if message.pane is self.tasks:
            app = self.ui
            samples = samples_table(app.room.fleet, self.shown_task, app.room.now())
            self.samples.show(samples, context=self.shown_task)
            app.room.focus(self.shown_task)
        self.ui.remember()

    def open(self, pane: TablePane, key: object) -> None:
        """Open a row."""
        is_finding = pane is self.findings
        self.ui.go(FindingPlace(str(key)) if is_finding else cast("Place", key))
