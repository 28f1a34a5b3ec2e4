"""Keys that act on findings: acknowledge, mute."""

import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.act.proposed_commands import proposed_target
from core.finding_events import FindingsAcknowledged, FindingsMuted
from core.fleet import Fleet
from core.ids import SampleKey
from core.judge.finding_list import can_be_acknowledged
from core.model.action import Verb
from core.model.finding import Finding, Proposal
from core.model.mute import Mute
from core.ports import Room
from core.text import shown
from core.views.actions.action_menu import entry_of
from core.views.findings.mute_choices import MUTE_TIMES, MuteBreadth, breadths
from core.views.findings.proposals import proposal_word, proposed_action
from tui.dialogs.choices import Choice, ChoiceDialog
from tui.navigation import Place
from tui.ui import Ui

if TYPE_CHECKING:
    from tui.controllers.actions import ActionController


class FindingController:
    """Handles the keys that act on findings.

    Args:
        ui: The app.
        room: Where the findings are.
        actions: Returns what opens previews.
    """

    def __init__(self, ui: Ui, room: Room, actions: "Callable[[], ActionController]") -> None:
        self._ui = ui
        self._room = room
        self._actions = actions

    @property
    def _fleet(self) -> Fleet:
        return self._room.fleet

    def about(self, place: Place) -> tuple[Finding, ...]:
        """Return the open findings about a place; for a sample, those of its task too."""
        places = {place, place.task} if isinstance(place, SampleKey) else {place}
        return tuple(
            each
            for each in self._fleet.findings
            if each.is_open
            and places & ({each.sample, each.task, each.process, each.machine} - {None})
        )

    def acknowledge(self, findings: Sequence[Finding]) -> None:
        """Acknowledge findings, also after a restart; those that wait for the operator close."""
        chosen = tuple(each.id for each in findings if can_be_acknowledged(each))
        if not chosen:
            self._ui.say("No open finding without an acknowledgement is selected.", "warning")
            return
        self._room.post(FindingsAcknowledged(at=self._room.now(), findings=chosen))

    def propose(self, finding: Finding, proposal: Proposal) -> None:
        """Open the preview of an action that a finding proposes."""
        target, action = proposed_target(finding, proposal), proposed_action(proposal)
        if target is None or action is None:
            self._ui.say("This action has no target any more.", "warning")
            return
        if action.verb is not Verb.CONFIG:
            entry = entry_of(self._fleet, (target,), action)
            if entry is not None:
                self._actions().take(entry)
                return
        word = proposal_word(proposal)
        self._actions().preview(f"{word[:1].upper()}{word[1:]}", action, (target,))

    def mute(self, findings: Sequence[Finding]) -> None:
        """Ask what to mute and for how long, then mute it; also after a restart."""
        chosen = next((each for each in findings if each.is_open), None)
        if chosen is None:
            self._ui.say("No open finding is selected.", "warning")
            return
        choices = [
            Choice(each, each.title) for each in breadths(self._fleet, chosen, self._room.now())
        ]
        self._ui.open(ChoiceDialog(shown("Mute"), choices), self._mute)

    def _mute(self, breadth: MuteBreadth | None) -> None:
        if breadth is None:
            return
        if breadth.ends:
            for each in breadth.ends:
                self._post(each, 0.0)
            return
        mute = breadth.mute

        def for_time(seconds: float | None) -> None:
            if seconds is not None:
                self._post(mute, seconds)

        times = [Choice(seconds, shown(word)) for word, seconds in MUTE_TIMES]
        self._ui.open(ChoiceDialog(shown(f"Mute {breadth.title} for"), times), for_time)

    def _post(self, mute: Mute, seconds: float) -> None:
        now = self._room.now()
        event = FindingsMuted(at=now, id=secrets.token_hex(8), mute=mute.lasting(now + seconds))
        self._room.post(event)
