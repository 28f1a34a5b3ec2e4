"""The terminals that runs left on machines: listed, and ended once their name was typed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from core import format as fmt
from core.errors import EvalroomError
from core.launch.engines.tmux_sessions import end_effect
from core.launch.run.sessions import MachineSession
from core.text import Shown, shown
from core.views.cells import Span
from tui.dialogs.ask import TypeName
from tui.dialogs.choose import Choice, Choose

if TYPE_CHECKING:
    from tui.app import RoomApp

_NAME = 100


class Sessions(Protocol):
    """The sessions of a room's machines."""

    async def list(self) -> Sequence[MachineSession]:
        """Return those of the machines that are reached now."""
        ...

    async def end(self, found: MachineSession) -> None:
        """End one; raises EvalroomError where it may go on."""
        ...


class EndSession(TypeName):
    """Say what ending a session means; it is ended by typing its name."""

    def __init__(self, found: MachineSession) -> None:
        name = shown(found.session.name, _NAME)
        super().__init__(
            Shown("End a session"),
            [
                (),
                (Span(name, "strong"), Span(shown(f"  on {found.machine}"), "dim")),
                (Span(shown(end_effect(found.session)), "look"),),
                (),
                (Span(shown(f"Type {name} to end it."), "plain"),),
            ],
            [("Enter", "end"), ("Esc", "leave it")],
            typed=found.session.name,
        )


class SessionLevers:
    """Lists sessions on screen, and ends one."""

    def __init__(self, app: "RoomApp", sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions

    def begin(self) -> None:
        """List the sessions beside the keys; Enter on one asks whether to end it."""
        self._beside(self._listed, "the sessions")

    def _beside(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        self._app.run_worker(work(), name=name, exit_on_error=False)

    async def _listed(self) -> None:
        found = await self._sessions.list()
        if not found:
            self._app.say("no run left a terminal on the machines that answer", "look")
            return
        now = self._app.room.now()
        choices = [Choice(str(at), _title(each, now)) for at, each in enumerate(found)]
        chooser = Choose(Shown("Sessions · Enter asks whether to end it"), choices)
        chooser.add_class("wide")

        def chosen(name: str | None) -> None:
            if name is not None:
                self._ask(found[int(name)])

        self._app.push_screen(chooser, chosen)

    def _ask(self, found: MachineSession) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._beside(lambda: self._ended(found), "ending a session")

        self._app.push_screen(EndSession(found), answered)

    async def _ended(self, found: MachineSession) -> None:
        try:
            await self._sessions.end(found)
        except EvalroomError as error:
            self._app.say(f"{error.message}; {error.advice}".rstrip("; "), "look")
        else:
            self._app.say(f"{shown(found.session.name, _NAME)} is ended")


def _title(found: MachineSession, now: float) -> Shown:
    session = found.session
    state = "ended" if session.has_ended else "running"
    seen = f", attached {session.attached}" if session.attached else ""
    name = shown(session.name, _NAME)
    return shown(f"{found.machine}  {name}  {state}{seen}  {fmt.age(now - session.created)}", 200)
