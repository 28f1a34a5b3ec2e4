"""The room as an app: it shows a `Room`, remembers the last view, and survives its terminal."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual.message import Message
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from core.config.model import ScreenConfig
from core.fleet import Fleet
from core.ports import FleetUpdate, Room
from core.text import Shown
from core.views.changes import only_older
from core.views.header.totals import title
from tui.controllers.places import Acts
from tui.dialogs.ask import AskSecret, Leave
from tui.keys.bindings import bindings
from tui.keys.labels import labels
from tui.keys.table import BY_NAME, remapped
from tui.launching_app import LaunchingApp
from tui.navigation import JOURNAL, Place, Way, is_there
from tui.screens.base import PanesScreen
from tui.screens.room import RoomScreen
from tui.screens.screen_for import screen_for
from tui.terminal.terminal import sentence_of
from tui.theme import SIXTEEN, THEMES, theme_for
from tui.view_state import Remembered, remembered_of

if TYPE_CHECKING:
    from core.act.service import ActionService

_EASE = 20.0
"""A drawing that took long is followed by a pause of this many times its length..."""
_LONGEST_EASE = 2.0
"""... and of no more than this, seconds."""
_IDLE_EASE, _LONGEST_IDLE = 300.0, 10.0
"""The same for drawing ages alone, while nothing happens: under 1% of a core. What the
compositor then spends on the cells is as much again, and is not in that length."""
LEAVING = "Nothing is stopped: evals go on, and the room opens where you left it."
"""What leaving the room means."""
_SAVE_AFTER = 2.0
"""Seconds after a change of the view until it is saved."""


class ViewStore(Protocol):
    """Where the last view is kept."""

    def load(self) -> Mapping[str, Any]:
        """Return the last view; empty where there is none."""
        ...

    def save(self, view: Mapping[str, Any]) -> bool:
        """Keep a view; return whether it is kept."""
        ...


class RoomApp(LaunchingApp, inherit_bindings=False):
    """The control room on screen."""

    CSS_PATH = "room.tcss"
    TITLE = "evalroom"
    BINDINGS = bindings("everywhere")
    ENABLE_COMMAND_PALETTE = False

    class RoomChanged(Message, bubble=False):
        """There is a new fleet. One message waits at most."""

        def can_replace(self, message: Message) -> bool:
            """Let a later one take its place."""
            return isinstance(message, RoomApp.RoomChanged)

    def __init__(
        self,
        room: Room,
        *,
        screen: ScreenConfig | None = None,
        keys: Mapping[str, str] | None = None,
        store: ViewStore | None = None,
        keep_crash: Callable[[str], str | None] | None = None,
        environ: Mapping[str, str] | None = None,
        leaving: str = LEAVING,
        acting: "ActionService | Callable[[], ActionService] | None" = None,
    ) -> None:
        """Make the app; nothing is read or drawn yet.

        Args:
            room: What it shows. The app runs it.
            screen: The config's `[screen]` table.
            keys: Remapped keys: a key's name to its new key.
            store: Where the last view is kept; None: nowhere.
            keep_crash: Writes a crash report (no values in it) and returns its path.
            leaving: What leaving means, in a sentence; it stands in the dialog that asks.
            acting: The operator's hands, or what makes them once the first frame is drawn. The
                app runs them beside the room; None: nothing can be changed from here.
            environ: What says what the terminal can show; None: the process's own.
        """
        super().__init__(
            screen or ScreenConfig(), keep_crash=keep_crash, environ=environ, acting=acting
        )
        self.room = room
        self.acts = Acts(self)
        self._store = store
        self._leaving = leaving
        known, self._unknown_keys = remapped(keys or {})
        self._remapped = known
        self.set_keymap(known)
        self.notice = Shown("")
        """Stands first in the header: what went wrong here, on this side."""
        self._way = Way()
        self._remembered = remembered_of(store.load() if store is not None else {})
        self._wanted_place: Place = self._remembered.place
        self._asking = asyncio.Lock()
        self._room_screen: RoomScreen | None = None
        self._saving: Timer | None = None
        self._drawing: Timer | None = None
        self._drawn_until = self._aged_until = 0.0
        self._drawn: Fleet | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._first_theme()

    # Start and end

    def _first_theme(self) -> str:
        best = theme_for(self.terminal, self.config.theme).name
        wanted = self._remembered.theme
        has_colours = self.terminal.depth in {"full", "256"}
        return wanted if wanted in {each.name for each in THEMES} and has_colours else best

    def get_default_screen(self) -> RoomScreen:
        """Return the main screen."""
        self._room_screen = RoomScreen()
        for pane, arrangement in self._remembered.arrangements.items():
            self._room_screen.restore(pane, arrangement)
        self._room_screen.current = self._remembered.pane - 1
        self._room_screen.tasks.want(self._remembered.task)
        return self._room_screen

    async def on_mount(self) -> None:
        """Draw first, then let the room run."""
        self.take_terminal()
        self.set_interval(1.0, self._second)
        self._unsubscribe = self.room.subscribe(self._heard)
        if self._unknown_keys:
            names = ", ".join(self._unknown_keys)
            self.say(f"[keys] of the config names no key: {names}", "look")
        self.call_after_refresh(self._run_room)

    def _run_room(self) -> None:
        self.say_title(title(self.room.fleet))
        self.run_worker(self.room.run(), name="the room", exit_on_error=False, exclusive=False)
        self.run_levers()

    def on_unmount(self) -> None:
        """Save the view and give the title back."""
        self._unsubscribe()
        self.save_view()
        self.give_terminal()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Say that something failed; the rest goes on."""
        worker = cast("Worker[object]", event.worker)  # pyright: ignore[reportUnknownMemberType]
        if event.state is WorkerState.ERROR and worker.error is not None:
            self.keep_report(worker.error)
            if worker.name == "the room":
                self.notice = Shown("the desk stopped")
            self.say(f"{worker.name} failed: {sentence_of(worker.error)}", "hand")

    # Drawing

    def _heard(self, update: FleetUpdate) -> None:
        del update
        self.post_message(self.RoomChanged())

    def on_room_app_room_changed(self) -> None:
        """Draw the new fleet, and leave the machine some room between two drawings."""
        if self._only_older():
            return  # ages are drawn with the clock
        wait = self._drawn_until - time.monotonic()
        if wait <= 0:
            self._draw()
        elif self._drawing is None:
            self._drawing = self.set_timer(wait, self._draw)

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        began = time.monotonic()
        fleet = self._drawn = self.room.fleet
        self._go_where_wanted(fleet)
        front = self.front
        if front is not None:
            front.renew()
        self.renew_orders()
        self.say_title(title(fleet))
        ended = time.monotonic()
        self._drawn_until = ended + min((ended - began) * _EASE, _LONGEST_EASE)

    def _only_older(self) -> bool:
        drawn = self._drawn
        return drawn is not None and only_older(drawn, self.room.fleet)

    @property
    def front(self) -> PanesScreen | None:
        """The screen with panes that is on top, under any dialog."""
        found = (each for each in reversed(self.screen_stack) if isinstance(each, PanesScreen))
        return next(found, None)

    def _second(self) -> None:
        if not self.look_at_terminal():
            return
        front = self.front
        if front is None:
            self._draw()
            return
        if not self._only_older():
            front.tell_time()
            self.on_room_app_room_changed()
            return
        began = time.monotonic()
        if began < self._aged_until:
            front.tell_time()
            return
        front.tick()
        ended = time.monotonic()
        self._aged_until = ended + min((ended - began) * _IDLE_EASE, _LONGEST_IDLE)

    # The way through the places

    def go(self, place: Place) -> None:
        """Open a place."""
        self._wanted_place = None
        self._way = self._way.to(place)
        self._show_place()

    def back(self) -> None:
        """Go back to where the operator came from; from the first place, to the room."""
        if self._way.at > 0:
            self._way = self._way.older()
        elif self._way.place is not None:
            self._way = Way()
        self._show_place()

    def action_older(self) -> None:
        """Walk back through the places."""
        self._way = self._way.older()
        self._show_place()

    def action_newer(self) -> None:
        """Walk forward again."""
        self._way = self._way.newer()
        self._show_place()

    def action_journal(self) -> None:
        """Open the journal of orders."""
        self.go(JOURNAL)

    def _show_place(self) -> None:
        front = self.front
        place = self._way.place
        if front is None or front.place == place:
            return
        if place is None:
            self.pop_screen()
        elif front.place is None:
            self.push_screen(screen_for(place))
        else:
            self.switch_screen(screen_for(place))  # pyright: ignore[reportUnknownMemberType]
        self.remember()

    def _go_where_wanted(self, fleet: Fleet) -> None:
        place = self._wanted_place
        if place is not None and is_there(fleet, place):
            self.go(place)

    # What the view was

    def remember(self) -> None:
        """Save the view a little later."""
        if self._store is not None and self._saving is None and not self._is_leaving:
            self._saving = self.set_timer(_SAVE_AFTER, self.save_view)

    def save_view(self) -> None:
        """Keep the view."""
        self._saving = None
        room = self._room_screen
        if self._store is None or room is None:
            return
        view = Remembered(
            place=self._way.place if self._wanted_place is None else self._wanted_place,
            pane=room.current + 1,
            task=room.shown_task,
            theme=None if self.theme == self._best_theme() else self.theme,
            arrangements=room.arrangements(),
        )
        self._store.save(view.to_json())

    def _best_theme(self) -> str:
        return theme_for(self.terminal, self.config.theme).name

    # Keys and commands

    def keys_of(self, name: str) -> str:
        """Return the keys of a name of `tui.keys.table`, as they are mapped now."""
        return self._remapped.get(name) or BY_NAME[name].keys

    def action_leave(self) -> None:
        """Ask, then leave."""
        if isinstance(self.screen, Leave):
            return

        def leave(wants: bool | None) -> None:
            if wants:
                self.leave()

        self.push_screen(Leave(self._leaving), leave)

    def action_help(self) -> None:
        """Show the keys of where the operator is."""
        from tui.dialogs.keys_help import KeysHelp  # noqa: PLC0415 - the first frame does without

        front = self.front
        if front is not None:
            self.push_screen(KeysHelp(list(self._live_keys(front))))

    def _live_keys(self, front: PanesScreen) -> Iterable[tuple[str, str]]:
        names = {active.binding.id for active in front.active_bindings.values()}
        for name, key in BY_NAME.items():
            if name == "pane_1":
                yield f"1-{len(front.panes)}", "To a pane by its digit."
            elif name in names and not name.startswith("pane_"):
                yield labels(self.keys_of(name)), key.help

    def action_command(self) -> None:
        """Open the command palette."""
        from tui.controllers.palette import commands_of  # noqa: PLC0415
        from tui.dialogs.choose import Command, Palette  # noqa: PLC0415

        front = self.front
        if front is None or isinstance(self.screen, Palette):
            return
        commands = commands_of(self, self.room.fleet, frozenset(front.able()))

        def run(command: Command | None) -> None:
            if command is not None:
                command.run()

        self.push_screen(Palette(commands), run)

    async def run_here(self, action: str) -> None:
        """Run an action on the pane, the screen or the app that has it."""
        front = self.front
        if front is None:
            return
        name = action.removeprefix("app.").split("(")[0]
        for node in (front.panes[front.current], front, self):
            if hasattr(node, f"action_{name}"):
                await self.run_action(action.removeprefix("app."), node)
                return

    def use_theme(self, name: str) -> None:
        """Use the `dark` theme, the `light` one, or the one of `16` colours."""
        wanted = theme_for(self.terminal, "light" if name == "light" else "dark")
        self.theme = SIXTEEN.name if name == "16" else wanted.name
        self.remember()

    async def ask(self, prompt: str, is_seen: bool) -> str | None:
        """Ask the operator one thing (`core.ports.Ask`); one question stands at a time."""
        async with self._asking:
            answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

            def answered(value: str | None) -> None:
                if not answer.done():
                    answer.set_result(value)

            dialog = AskSecret(prompt, is_seen=is_seen)
            self.push_screen(dialog, answered)
            try:
                return await answer
            finally:
                if dialog in self.screen_stack and dialog is self.screen:
                    self.pop_screen()
