"""A sample: its summary, events, messages and store, in tabs."""

from typing import cast

from core.fleet import Fleet
from core.ids import SampleKey
from core.views.sample_page import sample_page
from tui.bindings import bindings
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.screens.base import PanesScreen


class SampleScreen(PanesScreen):
    """One sample."""

    BINDINGS = bindings("sample")

    def make_panes(self) -> tuple[Pane, ...]:
        """Return the tabs."""
        self.summary = PagePane("1", id="sample-page")
        return (self.summary,)

    @property
    def shows_one_pane(self) -> bool:
        """Tabs take turns at every size."""
        return True

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the sample as it is known now."""
        key = cast("SampleKey", self.place)
        self.summary.show_page(sample_page(fleet, key, now))
        self.room_app.room.focus(key.task)
