"""The screen of a finding: its page, its task's progress over time, and its actions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from core.ctl.last_events import last_events
from core.fleet import Fleet
from core.judge.finding_list import with_id
from core.model.finding import Finding
from core.model.sample_detail import SampleEvent
from core.model.task import ProgressPoint
from core.views.cells import Table
from core.views.findings.proposals import OPENS, actions_table
from core.views.pages.finding_page import finding_page
from tui.navigation import FindingPlace, Place, subject_of
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.plot import PlotPane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen, put
from tui.screens.ports import RoomUi

if TYPE_CHECKING:
    from core.act.target_expansion import ActionPlace

_PLOT_LINES = 12


class FindingScreen(PanesScreen):
    """One finding."""

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._stored: tuple[ProgressPoint, ...] = ()
        self._events: Sequence[SampleEvent] = ()

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the panes."""
        self.facts = PagePane("1", id="finding-page", name_in_bar="Finding")
        self.offers = TablePane("2", id="finding-actions", has_titles=False)
        self.plot = PlotPane("3", id="finding-plot")
        return (self.facts, self.offers, self.plot)

    @property
    def finding(self) -> Finding | None:
        """The finding of this screen; None: it is no longer kept."""
        return with_id(self.ui.room.fleet, cast("FindingPlace", self.place).id)

    def on_mount(self) -> None:
        """Draw, and read the progress of its task and the last events of its sample."""
        # Where only one pane has room, the evidence comes before what helps.
        self.current = 0 if self.shows_one_pane else 1
        super().on_mount()
        self.run_worker(self._read_progress(), name="reading progress", exit_on_error=False)
        self.run_worker(self._read_events(), name="reading events", exit_on_error=False)

    async def _read_progress(self) -> None:
        finding = self.finding
        if finding is not None and finding.task is not None:
            self._stored = tuple(await self.ui.room.progress(finding.task))
            self.renew()

    async def _read_events(self) -> None:
        finding = self.finding
        if finding is None or finding.sample is None:
            return
        self._events = await last_events(self.ui.room.read, self.ui.room.fleet, finding.sample)
        self.renew()

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the finding."""
        finding = self.finding
        place = cast("FindingPlace", self.place)
        self.facts.show_page(finding_page(fleet, place.id, now, self._events))
        if finding is None:
            return
        self.offers.show(cast("Table[object]", actions_table(fleet, finding)))
        task = fleet.tasks.get(finding.task) if finding.task is not None else None
        trail = task.trail if task is not None else ()
        old = (each for each in self._stored if not trail or each.at < trail[0].at)
        self.plot.show((*old, *trail), task)
        self.ui.room.focus(finding.task)

    def place_panes(self, width: int, height: int) -> None:
        """The page on top, actions and the plot below."""
        finding = self.finding
        has_plot = finding is not None and finding.task is not None
        offers = min(self.offers.wanted_height, max(4, height // 4))
        below = max(offers, min(_PLOT_LINES, height // 3)) if has_plot else offers
        side = width // 2 if has_plot else width
        put(self.facts, 0, 0, width, height - below)
        put(self.offers, 0, height - below, side, below)
        self.plot.display = has_plot
        if has_plot:
            put(self.plot, side, height - below, width - side, below)

    @property
    def shows_findings(self) -> bool:
        """Whether keys act on a finding: always."""
        return True

    def chosen_findings(self) -> tuple[Finding, ...]:
        """Return the finding while it is open."""
        finding = self.finding
        return (finding,) if finding is not None and finding.is_open else ()

    def selected(self) -> Place:
        """Return what the finding is about."""
        finding = self.finding
        return subject_of(finding) if finding is not None else None

    def targets(self) -> "tuple[ActionPlace, ...]":
        """Return what the finding is about."""
        about = self.selected()
        return (cast("ActionPlace", about),) if about is not None else ()

    def open(self, pane: TablePane, key: object) -> None:
        """Open the preview of an action."""
        finding = self.finding
        if key == OPENS:
            self.ui.go(self.selected())
        elif pane is self.offers and finding is not None and isinstance(key, int):
            self.controllers.findings.propose(finding, finding.proposals[key])
