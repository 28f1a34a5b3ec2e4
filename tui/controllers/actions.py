"""Actions: keys open menus and previews; confirmed plans are sent in the background."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from core.act.order_query import OrderQuery
from core.act.plan import Plan
from core.act.planner import PlanningProgress
from core.act.service import ActionService
from core.act.target_expansion import ActionPlace
from core.act.undo import undo_requests
from core.errors import EvalroomError
from core.fleet import Fleet
from core.ids import SampleKey, Target, process_of
from core.model.action import Action, Verb
from core.model.order import Order
from core.ports import Room
from core.signal import Signal
from core.text import Shown, shown
from core.views.actions.action_menu import (
    REQUEUE_ERRORED,
    MenuEntry,
    buttons,
    calls,
    endings,
    entries,
    entry_of,
    pause_or_resume,
    production,
    read_only,
    subject,
    targets_of,
)
from core.views.actions.outcome_lines import summary
from core.views.actions.plan_progress import PlanProgress
from core.views.cells import Span, span_of
from tui.dialogs.action_menu import ActionMenu
from tui.dialogs.config import ConfigDialog
from tui.dialogs.palette import PaletteCommand
from tui.dialogs.plan_execution import MakePlan
from tui.dialogs.preview import PreviewDialog
from tui.services import Service
from tui.ui import Ui

_KEPT = 50
"""Outcomes of at most this many plans are kept; the oldest are dropped first."""
_MOST_ASKED, _ASK_TIMEOUT_S = 20, 0.3
"""Before the menu opens, query the API features of at most this many targets; wait at most this
many seconds."""
_CONFIG = Action(verb=Verb.CONFIG)


class ActionController:
    """Opens menus and previews of actions, and follows the orders that were confirmed.

    Args:
        ui: The app.
        room: The fleet that is acted on.
        acting: Plans actions and sends orders.

    Attributes:
        updated: Emitted when the state of a sent order changes, or its outcome is dismissed.
    """

    def __init__(self, ui: Ui, room: Room, acting: Service[ActionService]) -> None:
        self._ui = ui
        self._room = room
        self._service = acting
        self._sent_plans: list[PlanProgress] = []
        self._preview: PreviewDialog | None = None
        self.updated: Signal[None] = Signal()

    @property
    def _acting(self) -> ActionService | None:
        return self._service.get()

    @property
    def _fleet(self) -> Fleet:
        return self._room.fleet

    @property
    def orders(self) -> Sequence[Order]:
        """The newest orders of the fleet."""
        return self._fleet.orders

    async def orders_kept(self, limit: int) -> Sequence[Order] | None:
        """Read at most `limit` orders from the journal, newest first; None without a journal.

        Raises:
            StorageError: The journal can't be read.
        """
        acting = self._acting
        return None if acting is None else await acting.select(OrderQuery(limit=limit))

    async def run(self) -> None:
        """Resolve open orders until cancelled."""
        if self._acting is not None:
            await self._acting.run()

    # What the keys can do

    def available_keys(self, places: Sequence[ActionPlace]) -> Iterator[str]:
        """Yield the names of the keys that can do something to a selection now."""
        if self._acting is None:
            return
        if self._sent_plans:
            yield "outcomes"
        if undo_requests(self.orders, self._acting.instance.operator):
            yield "undo"
        if not places:
            return
        yield "actions"
        if read_only(self._fleet, places) is not None:
            return
        verbs = {each.action.verb for each in buttons(self._fleet, places)}
        if verbs & {Verb.PAUSE, Verb.RESUME}:
            yield "pause"
        for verb, name in (
            (Verb.CANCEL, "cancel"),
            (Verb.REQUEUE, "requeue"),
            (Verb.CONFIG, "config"),
        ):
            if verb in verbs:
                yield name

    def word_of(self, name: str, places: Sequence[ActionPlace]) -> str | None:
        """Return the word for a key when it differs from the key's own: `resume` for `pause`."""
        if name == "pause" and places:
            return str(pause_or_resume(self._fleet, places).verb)
        return None

    def buttons(self, places: Sequence[ActionPlace]) -> tuple[MenuEntry, ...]:
        """Return the entries of the action bar."""
        return buttons(self._fleet, places) if self._acting is not None else ()

    def _may(self, places: Sequence[ActionPlace]) -> bool:
        """Whether a selection can be acted on; if not, say why."""
        why = self._why_not(places)
        if why is not None:
            self._ui.say(why, "warning")
        return why is None

    def _why_not(self, places: Sequence[ActionPlace]) -> str | None:
        if self._acting is None:
            return self._service.missing
        if not places:
            return "Nothing is selected."
        return read_only(self._fleet, places)

    # The keys

    async def menu(
        self, places: Sequence[ActionPlace], every: Sequence[ActionPlace], what: str
    ) -> None:
        """Open the action menu of a selection. It says which actions an old Inspect lacks.

        Args:
            places: What is selected.
            every: All rows that the pane shows.
            what: What the rows are called: `tasks`.
        """
        if not places or self._acting is None:
            self._may(places)
            return
        targets = targets_of(self._fleet, places)[:_MOST_ASKED]
        await self._acting.learn({process_of(each) for each in targets}, patience=_ASK_TIMEOUT_S)
        wider = len(every) > len(places)
        self._ui.open(
            ActionMenu(
                *self._offered(places),
                note=read_only(self._fleet, places),
                every=partial(self._offered, every) if wider else None,
                every_word=shown(f"all {len(every)} {what} shown") if wider else None,
            ),
            self._chosen,
        )

    def _offered(self, places: Sequence[ActionPlace]) -> tuple[Shown, Sequence[MenuEntry]]:
        marked = production(self._fleet, places)
        title = shown(f"Actions on {subject(self._fleet, places)}{marked}")
        return title, entries(self._fleet, places)

    def _chosen(self, entry: MenuEntry | None) -> None:
        if entry is not None:
            self.take(entry)

    def take(self, entry: MenuEntry) -> None:
        """Open the preview of an entry, or the dialog that it needs first."""
        if entry.why_not is not None:
            self._ui.say(f"{entry.word}: {entry.why_not}", "warning")
        elif not self._may(entry.places):
            return
        elif entry.action == _CONFIG:
            self.config(entry.places)
        elif entry.action.verb is Verb.CANCEL_CALL and entry.action.tool_call is None:
            self._choose_call(entry)
        else:
            self.preview(entry.title, entry.action, entry.places)

    def _choose_call(self, entry: MenuEntry) -> None:
        found = calls(self._fleet, entry.places)
        if len(found) == 1:
            self.preview(found[0].title, found[0].action, found[0].places)
        elif found:
            self._choose(entry.places, found, "Cancel a tool call of")
        else:
            self.preview(entry.title, entry.action, entry.places)

    def _choose(self, places: Sequence[ActionPlace], found: Sequence[MenuEntry], what: str) -> None:
        title = shown(f"{what} {subject(self._fleet, places)}{production(self._fleet, places)}")
        self._ui.open(ActionMenu(title, found), self._chosen)

    def pause(self, places: Sequence[ActionPlace]) -> None:
        """Pause a selection, or resume it if it is paused itself; for samples, their task."""
        if self._may(places):
            places = _or_their_tasks(places)
            self._take_action(pause_or_resume(self._fleet, places), places)

    def pause_now(self, places: Sequence[ActionPlace]) -> None:
        """Pause a selection, and hold its samples in flight; for samples, their task."""
        if self._may(places):
            self._take_action(Action(verb=Verb.PAUSE, now=True), _or_their_tasks(places))

    def cancel(self, places: Sequence[ActionPlace]) -> None:
        """Choose how a selection ends."""
        if not self._may(places):
            return
        found = endings(self._fleet, places)
        reasons = {each.why_not for each in found}
        if len(reasons) == 1 and found[0].why_not is not None:
            self._ui.say(f"Nothing to end: {found[0].why_not}.", "warning")
        elif found:
            self._choose(places, found, "End")
        else:
            self._ui.say(
                "A process can't be cancelled. Cancel its tasks, or interrupt it.", "warning"
            )

    def requeue(self, places: Sequence[ActionPlace]) -> None:
        """Run errored samples again."""
        if self._may(places):
            self._take_action(REQUEUE_ERRORED.action, places)

    def _take_action(self, action: Action, places: Sequence[ActionPlace]) -> None:
        entry = entry_of(self._fleet, places, action)
        if entry is not None:
            self.take(entry)
            return
        kind = "sample" if isinstance(places[0], SampleKey) else "process"
        self._ui.say(f'"{action.verb}" doesn\'t apply to a {kind}', "warning")

    def config(self, places: Sequence[ActionPlace]) -> None:
        """Open the knobs of a selection; for a sample, those of its task."""
        if not self._may(places):
            return
        entry = entry_of(self._fleet, _or_their_tasks(places), _CONFIG)
        if entry is None or entry.why_not is not None:
            self._ui.say(
                f"config: {entry.why_not if entry else 'this selection has no knobs'}", "warning"
            )
            return
        self._ui.open(ConfigDialog(self._room, entry.places, preview=self.preview))

    def undo(self) -> None:
        """Open the preview that undoes the last plan that can be undone."""
        acting = self._acting
        if acting is None:
            self._may(())
            return

        async def ask(
            on_progress: Callable[[PlanningProgress], None], hurry: asyncio.Event
        ) -> Plan:
            del on_progress, hurry
            return await acting.undo()

        self.preview_plan("Undo the last plan", ask)

    # Previews

    def preview(
        self, title: str, action: Action, places: Sequence[ActionPlace], *, reason: str = ""
    ) -> None:
        """Open the preview of an action; its plan is made while it is open."""
        acting = self._acting
        if acting is None:
            self._may(places)
            return

        async def ask(
            on_progress: Callable[[PlanningProgress], None], hurry: asyncio.Event
        ) -> Plan:
            return await acting.plan(
                title, action, places, reason=reason, on_progress=on_progress, hurry=hurry
            )

        self.preview_plan(title, ask)

    def preview_plan(self, title: str, make_plan: MakePlan) -> None:
        """Open the preview of the plan that `make_plan` returns; `g` calls it again."""
        self._open(PreviewDialog(self, title, make_plan=make_plan))

    def _open(self, preview: PreviewDialog) -> None:
        self._preview = preview
        self._ui.open(preview)

    # Orders that were confirmed

    def carry_out(self, plan: Plan, *, words: str, yes: bool) -> PlanProgress:
        """Send the orders of a confirmed plan, in the background."""
        sent_plan = PlanProgress(plan)
        sent_plan.updated.connect(self.updated.emit)
        self._sent_plans = [sent_plan, *self._sent_plans][:_KEPT]
        sent_plan.begin()
        self._send(sent_plan, plan, words=words, yes=yes)
        return sent_plan

    def carry_out_changed(
        self, sent_plan: PlanProgress, plan: Plan, *, words: str, yes: bool
    ) -> None:
        """Send the targets that had changed since their preview and were confirmed again."""
        sent_plan.begin_changed()
        self._send(sent_plan, plan, words=words, yes=yes)

    def _send(self, sent_plan: PlanProgress, plan: Plan, *, words: str, yes: bool) -> None:
        self._ui.background(
            self._send_orders(sent_plan, plan, words=words, yes=yes), "sending orders"
        )

    async def _send_orders(
        self, sent_plan: PlanProgress, plan: Plan, *, words: str, yes: bool
    ) -> None:
        failed: Shown | None = Shown("Sending was interrupted. Check the targets before you retry.")
        try:
            assert self._acting is not None  # noqa: S101 - else there is no plan
            await self._acting.carry_out(plan, words=words, yes=yes, on_report=sent_plan.record)
            failed = None
        except EvalroomError as error:
            failed = shown(error.sentence, 300)
        finally:
            sent_plan.end(failed)

    def next_after(self, sent_plan: PlanProgress | None) -> PlanProgress | None:
        """Return the next plan that is not dismissed, the first again after the last; or None."""
        if sent_plan not in self._sent_plans:
            return self._sent_plans[0] if self._sent_plans else None
        after = self._sent_plans[(self._sent_plans.index(sent_plan) + 1) % len(self._sent_plans)]
        return None if after is sent_plan else after

    def production(self, targets: Iterable[Target]) -> Shown:
        """Return the mark for the title if a target is on a production machine; else empty."""
        return production(self._fleet, targets)

    def dismiss(self, sent_plan: PlanProgress) -> None:
        """Dismiss the outcomes of a plan."""
        if sent_plan in self._sent_plans and not sent_plan.is_running:
            self._sent_plans.remove(sent_plan)
            self.updated.emit(None)

    def outcomes(self) -> None:
        """Open the outcomes of the newest plan that is not dismissed."""
        if not self._sent_plans:
            self._ui.say("No outcomes to show.", "warning")
            return
        newest = self._sent_plans[0]
        self._open(PreviewDialog(self, newest.plan.title, sent_plan=newest))

    def totals(self) -> tuple[Span, ...]:
        """Return the header's totals of orders that are not dismissed; empty without any."""
        if not self._sent_plans:
            return ()
        outcomes = [
            each for sent_plan in self._sent_plans for each in sent_plan.outcomes(self.orders)
        ]
        return (span_of("orders "), *summary(outcomes))

    def renew(self) -> None:
        """Redraw the outcomes if they are on screen."""
        if self._preview is not None and self._preview.is_active:
            self._preview.renew()

    def commands(self, places: Sequence[ActionPlace]) -> Iterator[PaletteCommand]:
        """Yield all actions on a selection for the palette, unavailable ones included."""
        if self._acting is None or not places:
            return
        for entry in (*entries(self._fleet, places), *calls(self._fleet, places)):
            title = (
                f"{entry.title} (unavailable: {entry.why_not})" if entry.why_not else entry.title
            )
            yield PaletteCommand(
                name=entry.name, title=shown(title, 300), key="", run=partial(self.take, entry)
            )


def _or_their_tasks(places: Sequence[ActionPlace]) -> tuple[ActionPlace, ...]:
    """Return a selection with each sample replaced by its task, each task once."""
    tasks = (each.task if isinstance(each, SampleKey) else each for each in places)
    return tuple(dict.fromkeys(tasks))
