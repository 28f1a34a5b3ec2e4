"""What the screens ask of the app and its controllers, as protocols."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from core.ports import Room
from core.text import Shown
from core.views.cells import Span
from tui.navigation import Place
from tui.ui import Ui

if TYPE_CHECKING:
    from core.act.target_expansion import ActionPlace
    from core.guide.guide import Guide
    from core.guide.runner import GuideRunner
    from core.ids import MachineName
    from core.launch.ports import OutputChunk
    from core.model.finding import Finding, Proposal
    from core.model.order import Order
    from core.model.run import Run
    from core.views.actions.action_menu import MenuEntry


class ScreenActions(Protocol):
    """Actions on a selection: `tui.controllers.actions.ActionController`."""

    def available_keys(self, places: "Sequence[ActionPlace]") -> Iterator[str]:
        """Yield the names of the keys that can do something to a selection now."""
        ...

    def word_of(self, name: str, places: "Sequence[ActionPlace]") -> str | None:
        """Return the word for a key when it differs from the key's own: `resume` for `pause`."""
        ...

    def buttons(self, places: "Sequence[ActionPlace]") -> "tuple[MenuEntry, ...]":
        """Return the entries of the action bar."""
        ...

    def take(self, entry: "MenuEntry") -> None:
        """Open the preview of an entry of the menu or the bar."""
        ...

    async def menu(
        self,
        places: "Sequence[ActionPlace]",
        every: "Sequence[ActionPlace]",
        what: str,
    ) -> None:
        """Open the action menu of a selection.

        Args:
            places: What is selected.
            every: Every row of that pane that is shown.
            what: What the rows are called.
        """
        ...

    def pause(self, places: "Sequence[ActionPlace]") -> None:
        """Pause a selection or, where it is paused, resume it."""
        ...

    def pause_now(self, places: "Sequence[ActionPlace]") -> None:
        """Pause a selection, and hold its samples in flight."""
        ...

    def cancel(self, places: "Sequence[ActionPlace]") -> None:
        """Choose how a selection ends."""
        ...

    def requeue(self, places: "Sequence[ActionPlace]") -> None:
        """Run errored samples again."""
        ...

    def config(self, places: "Sequence[ActionPlace]") -> None:
        """Open the knobs of a selection."""
        ...

    def undo(self) -> None:
        """Undo the last plan that can be undone."""
        ...

    def outcomes(self) -> None:
        """Open the outcomes of the newest plan that is not dismissed."""
        ...

    async def orders_kept(self, limit: int) -> "Sequence[Order] | None":
        """Read at most `limit` orders from the journal, newest first; None without a journal.

        Raises:
            StorageError: The journal can't be read.
        """
        ...


class ScreenPlaces(Protocol):
    """Keys on the place under the cursor: `tui.controllers.places.PlaceController`."""

    def available_keys(self, place: Place) -> Iterator[str]:
        """Yield the names of the keys that can do something to a place now."""
        ...

    def retry(self, place: Place) -> None:
        """Try the link of a place's machine at once."""
        ...

    def trust(self, place: Place) -> None:
        """Show the unknown host key of a place's machine."""
        ...

    def dismiss(self, places: Iterable[object]) -> None:
        """Remove gone processes from the screen."""
        ...

    def copy(self, place: Place) -> None:
        """Copy what belongs to a place."""
        ...

    def why(self, place: Place) -> None:
        """Open the report on why a sample or a process does what it does."""
        ...

    def triage(self, place: Place) -> None:
        """Open the report on a place."""
        ...


class ScreenFindings(Protocol):
    """Keys on findings: `tui.controllers.findings.FindingController`."""

    def about(self, place: Place) -> "tuple[Finding, ...]":
        """Return the open findings about a place; for a sample, those of its task too."""
        ...

    def acknowledge(self, findings: "Sequence[Finding]") -> None:
        """Acknowledge findings."""
        ...

    def propose(self, finding: "Finding", proposal: "Proposal") -> None:
        """Open the preview of an action that a finding proposes."""
        ...

    def mute(self, findings: "Sequence[Finding]") -> None:
        """Ask what to mute of the first open one and for how long, then mute it."""
        ...


class ScreenGuides(Protocol):
    """Guides: `tui.controllers.guides.GuideController`."""

    guiding: "GuideRunner"
    newest: str | None

    def go_on(self, guide: str) -> None:
        """Preview the step that waits; take over a guide that no instance runs."""
        ...

    def skip(self, guide: str) -> None:
        """Skip the step that waits."""
        ...

    def stop(self, guide: str) -> None:
        """Stop a guide for good."""
        ...

    def copy(self, guide: "Guide") -> None:
        """Copy the command that resumes."""
        ...


class ScreenLaunches(Protocol):
    """Runs: `tui.controllers.launches.LaunchController`."""

    newest: str | None

    @property
    def can_read_output(self) -> bool:
        """Whether the output of runs can be read."""
        ...

    async def output(self, run: "Run") -> "OutputChunk":
        """Return the end of a run's output.

        Raises:
            RequestFailed: It can't be read.
        """
        ...

    def duplicate(self, run: "Run") -> None:
        """Open the form on the spec of a run."""
        ...

    def again(self, run: "Run") -> None:
        """Open the plan of a run's own spec."""
        ...


class ScreenTerminals(Protocol):
    """Terminals beside the app: `tui.controllers.attach.AttachController`."""

    def attach(self, run: "Run") -> None:
        """Show a run's own display."""
        ...

    def open(self, machine: "MachineName", words: Sequence[str], *, title: str, leave: str) -> None:
        """Run a program on a machine in a terminal.

        Args:
            machine: Where.
            words: The program and its arguments.
            title: The name of the window.
            leave: How the operator leaves it, a sentence without its end.
        """
        ...


class ScreenControllers(Protocol):
    """The controllers that screens use: `tui.controllers.registry.Controllers`."""

    @property
    def can_act(self) -> bool:
        """Whether anything can be changed from here."""
        ...

    @property
    def can_launch(self) -> bool:
        """Whether a run can be launched from here."""
        ...

    @property
    def actions(self) -> ScreenActions:
        """Acts on a selection."""
        ...

    @property
    def places(self) -> ScreenPlaces:
        """Acts on the place under the cursor."""
        ...

    @property
    def findings(self) -> ScreenFindings:
        """Acts on findings."""
        ...

    @property
    def guides(self) -> ScreenGuides | None:
        """Runs guides; None if this room can run none."""
        ...

    @property
    def launches(self) -> ScreenLaunches:
        """Launches runs, and reads what they print."""
        ...

    @property
    def terminals(self) -> ScreenTerminals | None:
        """Opens terminals; None: none can be opened here."""
        ...

    def order_totals(self) -> tuple[Span, ...]:
        """Return the header's totals of orders that are not dismissed; empty without any."""
        ...


class RoomUi(Ui, Protocol):
    """The app, as far as the screens know it."""

    @property
    def room(self) -> Room:
        """The desk, or the recording that plays."""
        ...

    @property
    def notice(self) -> Shown:
        """Shown first in the header; empty for none."""
        ...

    @property
    def controllers(self) -> ScreenControllers:
        """Carry out what the keys of a screen ask for."""
        ...

    def keys_of(self, name: str) -> str:
        """Return the keys of a name of `tui.keys.table`, as they are mapped now."""
        ...

    def back(self) -> None:
        """Go back to the place before; from the first one, to the main screen."""
        ...

    def remember(self) -> None:
        """Save the view a little later."""
        ...
