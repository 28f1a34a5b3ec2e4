"""Keys that act on the place under the cursor: link, host key, copy, dismiss."""

from collections.abc import Iterable, Iterator

from core.config.judge import JudgeConfig
from core.errors import StorageError, TargetUnclear
from core.events import Dismissed
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.machine import LinkState, Machine
from core.ports import Room
from core.text import Shown, shown
from core.views.cells import Span, TextLine
from tui.clipboard import copy_text
from tui.controllers.sign_in import retry_or_sign_in
from tui.dialogs.foreign_command import RECORDED, copy_foreign
from tui.dialogs.prompts import HostKeyDialog
from tui.navigation import Place, machine_of
from tui.ui import Ui

_RETRIED = frozenset({LinkState.DOWN, LinkState.REFUSED, LinkState.NEEDS_YOU, LinkState.LAGGING})


def _asks_for_trust(machine: Machine) -> bool:
    return machine.link.state is LinkState.NEEDS_TRUST and bool(machine.link.fingerprint)


class PlaceController:
    """Handles the keys that act on the place under the cursor: link, host key, copy, dismiss.

    Args:
        ui: The app.
        room: Where links are retried and host keys accepted.
        rules: The numbers by which a report judges samples.
    """

    def __init__(self, ui: Ui, room: Room, rules: JudgeConfig) -> None:
        self._ui = ui
        self._room = room
        self._rules = rules
        self._retrying: set[MachineName] = set()

    @property
    def _fleet(self) -> Fleet:
        return self._room.fleet

    def available_keys(self, place: Place) -> Iterator[str]:
        """Yield the names of the keys that can do something to a place now."""
        machine = self._fleet.machines.get(machine_of(place) or MachineName(""))
        if not self._room.is_replay and self._untrusted(place) is not None:
            yield "trust"
        if (
            machine is not None
            and not self._room.is_replay
            and (machine.link.state in _RETRIED or self._unread(place) is not None)
        ):
            yield "retry"
        if self._gone(place) is not None:
            yield "dismiss"
        if copy_text(self._fleet, place) is not None:
            yield "copy"

    def retry(self, place: Place) -> None:
        """Try the link of a place's machine at once.

        Of an ended task it reads the log again; a process that runs is polled now.
        """
        name = machine_of(place)
        machine = self._machine(name)
        task = self._unread(place)
        if task is not None and machine is not None and machine.link.is_up:
            self._room.read_log(task)
            self._ui.say("Reading its log again.")
            return
        process = self._live(place)
        if process is not None and machine is not None and machine.link.is_up:
            self._room.poll_now(process)
            self._ui.say(f"Polling process {process.pid} now.")
            return
        if machine is None:
            self._ui.say("No machine is selected.", "warning")
        elif self._room.is_replay:
            self._ui.say("This is a recording: it has no link to retry.", "warning")
        else:
            # In the background: signing in may take minutes.
            self._ui.background(self._retry(machine), "retrying the link")

    async def _retry(self, machine: Machine) -> None:
        if machine.name not in self._retrying:
            self._retrying.add(machine.name)
            try:
                await retry_or_sign_in(self._ui, self._room, machine)
            finally:
                self._retrying.discard(machine.name)

    def trust(self, place: Place) -> None:
        """Show the unknown host key of a place's machine; typing the name accepts it.

        If that machine's key is known, the first machine with an unknown one is shown.
        """
        machine = self._untrusted(place)
        fingerprint = machine.link.fingerprint if machine is not None else None
        if machine is None or not fingerprint:
            self._ui.say("No machine has an unknown host key.", "warning")
            return

        def accept(accepted: bool | None) -> None:
            if not accepted:
                return
            try:
                self._room.accept_key(machine.name, fingerprint)
            except StorageError as error:
                self._ui.say(error.sentence, "error")
            else:
                self._ui.say(f"The host key of {machine.name} is accepted.")

        self._ui.open(HostKeyDialog(machine.name, machine.address, fingerprint), accept)

    def _untrusted(self, place: Place) -> Machine | None:
        selected = self._machine(machine_of(place))
        machines: list[Machine] = [] if selected is None else [selected]
        machines.extend(self._fleet.machines.values())
        return next((each for each in machines if _asks_for_trust(each)), None)

    def dismiss(self, places: Iterable[object]) -> None:
        """Remove gone processes from the screen."""
        gone = {process for place in places if (process := self._gone(place)) is not None}
        if not gone:
            self._ui.say("Only a gone process can be dismissed.", "warning")
        for process in gone:
            self._room.post(Dismissed(at=self._room.now(), process=process))

    def copy(self, place: Place) -> None:
        """Copy the log location, the command or the address of a place."""
        copied = copy_text(self._fleet, place)
        if copied is None:
            self._ui.say("There is nothing to copy here.", "warning")
        elif self._room.is_replay and copied.what == "command":
            copy_foreign(self._ui, copied.text, copied.what, RECORDED)
        else:
            self._ui.copy(copied.text, copied.what)

    def triage(self, place: Place) -> None:
        """Open the report on a place; on the whole fleet where it is no part of that."""
        # A report is opened seldom: its code is loaded with the first one.
        from core.act.target_labels import target_label  # noqa: PLC0415
        from core.views.triage.lines import triage_lines  # noqa: PLC0415
        from core.views.triage.report import triage  # noqa: PLC0415
        from tui.dialogs.report import ReportDialog  # noqa: PLC0415

        target = place if isinstance(place, str | ProcessKey | TaskKey | SampleKey) else None

        def make(whole: bool) -> tuple[list[TextLine], tuple[str, ...]]:
            try:
                about = None if whole else target
                report = triage(self._fleet, about, self._rules, self._room.now())
            except TargetUnclear as error:
                return [(Span(shown(error.sentence, 200), "warning"),)], ()
            commands = tuple(step.command for step in report.steps)
            return triage_lines(self._fleet, report), commands

        if target is None or isinstance(target, str):
            name = shown(target or "")
        else:
            name = target_label(target, self._fleet)
        self._ui.open(ReportDialog(self._ui, Shown("Triage"), name, make, can_widen=True))

    def why(self, place: Place) -> None:
        """Open the report on why a sample or a process does what it does."""
        from core.act.target_labels import target_label  # noqa: PLC0415
        from core.ctl.last_events import last_events  # noqa: PLC0415
        from core.views.pages.detail_lines import dated_event  # noqa: PLC0415
        from core.views.triage.why import why, why_lines  # noqa: PLC0415
        from tui.dialogs.report import ReportDialog  # noqa: PLC0415

        target = place.process if isinstance(place, TaskKey) else place
        if not isinstance(target, ProcessKey | SampleKey):
            self._ui.say("Select a sample, a task or a process.", "warning")
            return

        events: list[Shown] = []

        def make(_: bool) -> tuple[list[TextLine], tuple[str, ...]]:
            try:
                now = self._room.now()
                return why_lines(why(self._fleet, target, self._rules, now, events)), ()
            except TargetUnclear as error:
                return [(Span(shown(error.sentence, 200), "warning"),)], ()

        name = target_label(target, self._fleet)
        dialog = ReportDialog(self._ui, Shown("Why"), name, make)
        self._ui.open(dialog)
        if not isinstance(target, SampleKey):
            return

        async def read() -> None:
            found = await last_events(self._room.read, self._fleet, target)
            events.extend(dated_event(each) for each in found)
            dialog.action_again()

        self._ui.background(read(), "reading events")

    def _machine(self, name: MachineName | None) -> Machine | None:
        return self._fleet.machines.get(name) if name is not None else None

    def _unread(self, place: object) -> TaskKey | None:
        """Return the task of a place whose log may say more when it is read again."""
        key = place.task if isinstance(place, SampleKey) else place
        task = self._fleet.tasks.get(key) if isinstance(key, TaskKey) else None
        if task is None or self._room.is_replay or task.ended_at is None:
            return None
        is_known = task.header is not None and task.header.is_final and task.logged is not None
        return None if is_known else task.key

    def _gone(self, place: object) -> ProcessKey | None:
        key = _process_of(place)
        process = self._fleet.processes.get(key) if key is not None else None
        return key if process is not None and process.is_gone else None

    def _live(self, place: object) -> ProcessKey | None:
        """Return the process of a place that runs and has a control channel."""
        key = _process_of(place)
        process = self._fleet.processes.get(key) if key is not None else None
        if process is None or process.is_gone or self._room.is_replay:
            return None
        return key if process.socket_path is not None else None


def _process_of(place: object) -> ProcessKey | None:
    key = place.task.process if isinstance(place, SampleKey) else place
    key = key.process if isinstance(key, TaskKey) else key
    return key if isinstance(key, ProcessKey) else None
