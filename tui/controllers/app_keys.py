"""Keys of the app that open a list, or start a launch."""

from tui.controllers.registry import Controllers
from tui.navigation import GUIDES, JOURNAL, RUNS, Place


class AppKeys:
    """The actions of such keys, for the app."""

    controllers: Controllers

    def go(self, place: Place) -> None:
        """Open the screen of a place."""
        raise NotImplementedError

    def action_journal(self) -> None:
        """Open the journal of orders."""
        self.go(JOURNAL)

    def action_guides(self) -> None:
        """Open the guides."""
        self.go(GUIDES)

    def action_runs(self) -> None:
        """Open the list of runs."""
        self.go(RUNS)

    def action_launch(self) -> None:
        """Start a launch."""
        self.controllers.launches.begin()

    def action_since(self) -> None:
        """Show again what changed while the operator was away."""
        self.controllers.since.again()
