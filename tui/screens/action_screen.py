"""The keys of a screen that act on its selection."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from core.ids import MachineName, ModelKey, ProcessKey, SampleKey, TaskKey
from core.judge.finding_list import can_be_acknowledged
from tui.navigation import Place
from tui.panes.action_bar import ActionBar
from tui.panes.table import TablePane
from tui.screens.ports import RoomUi
from tui.screens.table_screen import TableScreen
from tui.terminal.textual_internals import forget_strips

if TYPE_CHECKING:
    from core.act.target_expansion import ActionPlace
    from core.model.finding import Finding


class ActionScreen(TableScreen, inherit_bindings=False):
    """A screen with keys that act on its selection, and an action bar."""

    def __init__(self, ui: RoomUi) -> None:
        super().__init__(ui)
        self.action_bar = ActionBar()

    def on_unmount(self) -> None:
        """Forget the lines that it drew."""
        forget_strips(self)

    def selected(self) -> Place:
        """Return the place under the cursor; None: no part of the fleet is."""
        raise NotImplementedError

    def targets(self) -> "tuple[ActionPlace, ...]":
        """Return the targets of an action: the marked rows, or the one under the cursor."""
        raise NotImplementedError

    @property
    def shows_findings(self) -> bool:
        """Whether the current pane is about findings."""
        return False

    def finding_keys(self, found: "Sequence[Finding]") -> Iterator[str]:
        """Yield the names of the keys that can do something to these findings now."""
        if any(each.waits or (self.shows_findings and can_be_acknowledged(each)) for each in found):
            yield "acknowledge"
        if found and self.shows_findings:
            yield "mute"

    def chosen_findings(self) -> "tuple[Finding, ...]":
        """Return the open findings that are selected, or that are about the selection."""
        raise NotImplementedError

    def action_acknowledge(self) -> None:
        """Acknowledge the findings of the selection."""
        self.controllers.findings.acknowledge(self.chosen_findings())

    def action_mute(self) -> None:
        """Ask what to mute, and for how long."""
        self.controllers.findings.mute(self.chosen_findings())

    def rows_shown(self) -> "tuple[ActionPlace, ...]":
        """Return all rows of the current pane that actions apply to."""
        pane = self.panes[self.current]
        rows = (row.key for row in pane.rows) if isinstance(pane, TablePane) else ()
        return tuple(
            cast("ActionPlace", key)
            for key in rows
            if isinstance(key, ProcessKey | TaskKey | SampleKey | ModelKey)
            or (isinstance(key, str) and MachineName(key) in self._machines())
        )

    def _machines(self) -> Sequence[MachineName]:
        return tuple(self.ui.room.fleet.machines)

    def say_actions(self) -> None:
        """Redraw the action bar."""
        if self.action_bar.display:
            targets = self.targets()
            self.action_bar.show(self.controllers.actions.buttons(targets) if targets else ())

    async def action_actions(self) -> None:
        """Open the action menu of the selection."""
        pane = self.panes[self.current]
        what = f"{pane.title_text().split(' ')[0].lower()}" if pane.title_text() else "rows"
        await self.controllers.actions.menu(self.targets(), self.rows_shown(), what)

    def action_pause(self) -> None:
        """Pause the selection, or resume it if it is paused."""
        self.controllers.actions.pause(self.targets())

    def action_pause_now(self) -> None:
        """Pause the selection, and hold its samples in flight."""
        self.controllers.actions.pause_now(self.targets())

    def action_cancel(self) -> None:
        """Choose how the selection ends."""
        self.controllers.actions.cancel(self.targets())

    def action_requeue(self) -> None:
        """Run errored samples again."""
        self.controllers.actions.requeue(self.targets())

    def action_config(self) -> None:
        """Open the knobs of the selection."""
        self.controllers.actions.config(self.targets())

    def action_undo(self) -> None:
        """Undo the last plan that can be undone."""
        self.controllers.actions.undo()

    def action_outcomes(self) -> None:
        """Open the outcomes of recent actions."""
        self.controllers.actions.outcomes()

    def action_retry(self) -> None:
        """Retry the link of the selected machine, or read the log of the selected task again."""
        self.controllers.places.retry(self.selected())

    def action_trust(self) -> None:
        """Show the unknown host key of the selected machine."""
        self.controllers.places.trust(self.selected())

    def action_dismiss_gone(self) -> None:
        """Remove the selected gone processes from the screen."""
        self.controllers.places.dismiss(self.targets())

    def action_why(self) -> None:
        """Explain what the selected sample or process does."""
        self.controllers.places.why(self.selected())

    def action_triage(self) -> None:
        """Report on the selection."""
        self.controllers.places.triage(self.selected())

    def action_copy(self) -> None:
        """Copy the log location or the command of the selection."""
        self.controllers.places.copy(self.selected())
