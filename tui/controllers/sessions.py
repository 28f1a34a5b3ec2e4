"""Terminal sessions that runs left on machines: lists them, and ends one by its typed name."""

from collections.abc import Callable, Coroutine
from typing import Any

from core import format as fmt
from core.errors import EvalroomError
from core.launch.engines.tmux_sessions import end_effect
from core.launch.run.sessions import MachineSession
from core.ports import Room
from core.text import Shown, shown
from core.views.cells import Span
from tui.dialogs.choices import Choice, ChoiceDialog
from tui.dialogs.prompts import TypedNameDialog
from tui.services import SessionService
from tui.ui import Ui

_NAME = 100


class EndSessionDialog(TypedNameDialog):
    """Explain what ending a session does; typing its name ends it."""

    def __init__(self, found: MachineSession) -> None:
        name = shown(found.session.name, _NAME)
        super().__init__(
            Shown("End a session"),
            [
                (),
                (Span(name, "strong"), Span(shown(f"  on {found.machine}"), "dim")),
                (Span(shown(end_effect(found.session)), "warning"),),
                (),
                (Span(shown(f"Type {name} to end it."), "plain"),),
            ],
            [("Enter", "end"), ("Esc", "cancel")],
            typed=found.session.name,
        )


class SessionController:
    """Lists the terminal sessions that runs left, and ends one.

    Args:
        ui: The app.
        room: Gives the present time, to compute ages.
        sessions: Lists and ends them.
    """

    def __init__(self, ui: Ui, room: Room, sessions: SessionService) -> None:
        self._ui = ui
        self._room = room
        self._sessions = sessions

    def begin(self) -> None:
        """List the sessions; Enter on one asks whether to end it."""
        self._beside(self._listed, "listing sessions")

    def _beside(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        self._ui.background(work(), name)

    async def _listed(self) -> None:
        found = await self._sessions.list()
        if not found:
            self._ui.say("No run left a terminal session on the connected machines.", "warning")
            return
        now = self._room.now()
        choices = [Choice(each, _title(each, now)) for each in found]
        chooser = ChoiceDialog(Shown("Sessions · Enter to end one (asks first)"), choices)
        chooser.add_class("wide")

        def chosen(session: MachineSession | None) -> None:
            if session is not None:
                self._ask(session)

        self._ui.open(chooser, chosen)

    def _ask(self, found: MachineSession) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._beside(lambda: self._ended(found), "ending a session")

        self._ui.open(EndSessionDialog(found), answered)

    async def _ended(self, found: MachineSession) -> None:
        try:
            await self._sessions.end(found)
        except EvalroomError as error:
            self._ui.say(error.sentence, "warning")
        else:
            self._ui.say(f"{shown(found.session.name, _NAME)} has ended.")


def _title(found: MachineSession, now: float) -> Shown:
    session = found.session
    state = "ended" if session.has_ended else "running"
    seen = f", attached {session.attached}" if session.attached else ""
    name = shown(session.name, _NAME)
    return shown(f"{found.machine}  {name}  {state}{seen}  {fmt.age(now - session.created)}", 200)
