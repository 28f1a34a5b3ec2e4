"""The app: shows a room, handles its keys, and restores the last view."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, cast

from textual import events
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker, WorkerState

from core.config.model import ScreenConfig
from core.fleet import Fleet
from core.model.question import Question
from core.ports import FleetUpdate
from core.text import Shown, shown
from core.views.findings.alarm_bell import AlarmBell
from core.views.header.totals import title
from tui.controllers.app_keys import AppKeys
from tui.controllers.registry import Controllers
from tui.dialogs.keys_help import KeysDialog
from tui.dialogs.prompts import LeaveDialog, QuestionDialog
from tui.draw_pace import DrawPace
from tui.keys.bindings import bindings
from tui.keys.table import BY_NAME, remapped
from tui.navigation import Place, PlaceHistory, is_there
from tui.screens.panes_screen import PanesScreen
from tui.screens.room import RoomScreen
from tui.screens.screen_factory import screen_for
from tui.services import RoomServices
from tui.terminal.changed_cells import CellsCompositor
from tui.terminal.crash_report import sentence_of
from tui.terminal.terminal_app import TerminalApp
from tui.terminal.textual_internals import is_composed_openly, use_compositor
from tui.theme import SIXTEEN, THEMES, theme_for
from tui.view_state import SavedView, saved_view_of

LEAVING = "Evals keep running. evalroom opens again where you left it."
"""Explains what leaving the app does."""
_SAVE_AFTER_S = 2.0
"""Time from a change of the view until it is saved."""
_RUNS_AFTER_S = 1.0
"""Time from the first frame until runs are followed: live rows come first."""
T = TypeVar("T")


class RoomApp(AppKeys, TerminalApp, inherit_bindings=False):
    """The app.

    Controllers other than that of the places are loaded when they are first used: the first
    frame does without them.

    Args:
        services: The room it shows, and everything else that it uses.
        screen: The config's `[screen]` table.
        keys: Remapped keys: a key's name to its new key.
        keep_crash: Writes a crash report (without values) and returns its path.
        environ: Describes the terminal; None: the process's own environment.
        leaving: What leaving does, a sentence for the dialog that asks.
        notice: Shown first in the header while the app runs; empty for none.
        greeting: Shown for a few seconds at the start; empty for none.
    """

    CSS_PATH = "room.tcss"
    TITLE = "evalroom"
    BINDINGS = bindings("everywhere")
    ENABLE_COMMAND_PALETTE = False

    class RoomChanged(Message, bubble=False):
        """The fleet changed. At most one such message waits."""

        def can_replace(self, message: Message) -> bool:
            """Let a later one replace it."""
            return isinstance(message, RoomApp.RoomChanged)

    def __init__(
        self,
        services: RoomServices,
        *,
        screen: ScreenConfig | None = None,
        keys: Mapping[str, str] | None = None,
        keep_crash: Callable[[str], str | None] | None = None,
        environ: Mapping[str, str] | None = None,
        leaving: str = LEAVING,
        notice: str = "",
        greeting: str = "",
    ) -> None:
        super().__init__(screen or ScreenConfig(), keep_crash=keep_crash, environ=environ)
        self.services = services
        self.room = services.room
        self.controllers = Controllers(self, services, orders_changed=self._show_orders)
        self._pace = DrawPace()
        self._bell = AlarmBell()
        self._leaving = leaving
        self._greeting = greeting
        known, self._unknown_keys = remapped(keys or {})
        self._remapped = known
        self.set_keymap(known)
        self.notice = shown(notice)
        self._history = PlaceHistory()
        self._remembered = saved_view_of({} if services.views is None else services.views.load())
        self._wanted_place: Place = self._remembered.place
        self._asking = asyncio.Lock()
        self._room_screen: RoomScreen | None = None
        self._saving: Timer | None = None
        self._drawing: Timer | None = None
        self._revision = 0
        self._drawn_revision: int | None = None
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
        self._room_screen = RoomScreen(self)
        for pane, arrangement in self._remembered.arrangements.items():
            self._room_screen.restore(pane, arrangement)
        self._room_screen.current = self._remembered.pane - 1
        self._room_screen.tasks.want(self._remembered.task)
        return self._room_screen

    async def on_mount(self) -> None:
        """Draw first, then run the room."""
        self.take_terminal()
        self.set_interval(1.0, self._second)
        self._unsubscribe = self.room.subscribe(self._show_update)
        if self._unknown_keys:
            names = ", ".join(self._unknown_keys)
            self.say(f"[keys] in the config has unknown names: {names}", "warning")
        if self._greeting:
            self.say(self._greeting, "warning")
        self.call_after_refresh(self._run_services)

    def _run_services(self) -> None:
        self.say_title(title(self.room.fleet))
        self.background(self.room.run(), "the desk")
        if self.controllers.can_act:
            self.background(self.controllers.actions.run(), "resolving orders")
        if self.services.runs.exists:
            self.set_timer(_RUNS_AFTER_S, self._run_runs)

    def _run_runs(self) -> None:
        runs = self.services.runs.get()
        if runs is not None:
            self.background(runs.run(), "following runs")

    def on_unmount(self) -> None:
        """Save the view and restore the title."""
        self._unsubscribe()
        self.save_view()
        self.controllers.since.save()
        self.give_terminal()

    async def on_event(self, event: events.Event) -> None:
        """Handle an event; the first key after a time away only shows what changed."""
        if not (self._room_screen and self.controllers.since.takes(event)):
            await super().on_event(event)

    def key_typed(self) -> None:
        """Have the desk leave the event loop to the screen until the key is answered."""
        self.room.give_way()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report that a background task failed; everything else continues."""
        worker = cast("Worker[object]", event.worker)  # pyright: ignore[reportUnknownMemberType]
        if event.state is WorkerState.ERROR and worker.error is not None:
            self.keep_report(worker.error)
            if worker.name == "the desk":
                self.notice = Shown("the desk stopped")
            self.say(f"{worker.name} failed: {sentence_of(worker.error)}", "error")

    # What controllers and dialogs ask for (tui.ui.Ui)

    def open(self, screen: Screen[T], then: Callable[[T | None], None] | None = None) -> None:
        """Put a dialog or a screen on top; see `Ui.open`."""
        if not is_composed_openly(screen):
            use_compositor(screen, CellsCompositor())
        self.push_screen(screen, then)

    def background(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Run work in the background; its error is shown with this name."""
        self.run_worker(work, name=name, exit_on_error=False)

    def later(self, call: Callable[[], object]) -> None:
        """Call a function after the messages that wait now."""
        self.call_later(call)

    # Drawing

    def _show_orders(self) -> None:
        front = self.front
        if front is not None:
            front.say_totals()
            front.say_keys()

    def _show_update(self, update: FleetUpdate) -> None:
        self._revision = update.revision
        self.post_message(self.RoomChanged())

    def on_room_app_room_changed(self) -> None:
        """Draw the new fleet, now or after the pause that the last drawing needs."""
        if not self._has_news:
            return  # ages are drawn once a second
        wait = self._pace.wait
        if wait <= 0:
            self._draw()
        elif self._drawing is None:
            self._drawing = self.set_timer(wait, self._draw)

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.stop()
            self._drawing = None
        began = time.monotonic()
        fleet, self._drawn_revision = self.room.fleet, self._revision
        self._go_where_wanted(fleet)
        front = self.front
        if front is not None:
            front.renew()
        self.controllers.refresh_orders()
        self.say_title(title(fleet))
        if self._bell.rings(fleet, began) and self.config.bell:
            self.bell()
        self._pace.drew(began)

    @property
    def _has_news(self) -> bool:
        return self._drawn_revision != self._revision  # more than ages

    @property
    def front(self) -> PanesScreen | None:
        """The topmost screen with panes, under any dialog."""
        found = (each for each in reversed(self.screen_stack) if isinstance(each, PanesScreen))
        return next(found, None)

    def _second(self) -> None:
        if not self.check_terminal():
            return
        front = self.front
        self.controllers.since.second(is_free=self.screen is front)
        if front is None:
            self._draw()
            return
        if self._has_news:
            front.redraw_clock()
            self.on_room_app_room_changed()
            return
        if not self._pace.may_age:
            front.redraw_clock()
            return
        began = time.monotonic()
        front.tick()
        self._pace.aged(began)

    # Places

    def go(self, place: Place) -> None:
        """Open the screen of a place."""
        self._wanted_place = None
        self._history = self._history.to(place)
        self._show_place()

    def back(self) -> None:
        """Go back to the previous place; from the first one, to the main screen."""
        if self._history.at > 0:
            self._history = self._history.older()
        elif self._history.place is not None:
            self._history = PlaceHistory()
        self._show_place()

    def action_older(self) -> None:
        """Go back in the history of places."""
        self._history = self._history.older()
        self._show_place()

    def action_newer(self) -> None:
        """Go forward in the history of places."""
        self._history = self._history.newer()
        self._show_place()

    def _show_place(self) -> None:
        front = self.front
        place = self._history.place
        if front is None or front.place == place:
            return
        if place is None:
            self.pop_screen()
        elif front.place is None:
            self.open(screen_for(self, place))
        else:
            self.switch_screen(screen_for(self, place))  # pyright: ignore[reportUnknownMemberType]
        self.remember()

    def _go_where_wanted(self, fleet: Fleet) -> None:
        place = self._wanted_place
        if place is not None and is_there(fleet, place):
            self.go(place)

    # The saved view

    def remember(self) -> None:
        """Save the view a little later."""
        if self.services.views is not None and self._saving is None and not self._is_leaving:
            self._saving = self.set_timer(_SAVE_AFTER_S, self.save_view)

    def save_view(self) -> None:
        """Save the view."""
        self._saving = None
        room = self._room_screen
        if self.services.views is None or room is None:
            return
        view = SavedView(
            place=self._history.place if self._wanted_place is None else self._wanted_place,
            pane=room.current + 1,
            task=room.shown_task,
            theme=None if self.theme == self._best_theme() else self.theme,
            arrangements=room.arrangements(),
        )
        self.services.views.save(view.to_json())

    def _best_theme(self) -> str:
        return theme_for(self.terminal, self.config.theme).name

    # Keys and commands

    def keys_of(self, name: str) -> str:
        """Return the keys of a name of `tui.keys.table`, as they are mapped now."""
        return self._remapped.get(name) or BY_NAME[name].keys

    def action_leave(self) -> None:
        """Ask whether to leave."""
        if isinstance(self.screen, LeaveDialog):
            return

        def leave(wants: bool | None) -> None:
            if wants:
                self.leave()

        self.open(LeaveDialog(self._leaving), leave)

    def action_help(self) -> None:
        """Show the keys that work here."""
        front = self.front
        if front is not None:
            self.open(KeysDialog(list(front.live_keys())))

    def action_command(self) -> None:
        """Open the command palette."""
        front = self.front
        if front is None:
            return
        palette = self.controllers.palette(
            keys_of=self.keys_of, run_action=self.run_here, use_theme=self.use_theme
        )
        palette.open(front.available_keys(), self.controllers.commands(front.targets()))

    async def run_here(self, action: str) -> None:
        """Run an action on the current pane, the screen or the app, whichever has it."""
        front = self.front
        if front is None:
            return
        name = action.removeprefix("app.").split("(")[0]
        for node in (front.panes[front.current], front, self):
            if hasattr(node, f"action_{name}"):
                await self.run_action(action.removeprefix("app."), node)
                return

    def use_theme(self, name: str) -> None:
        """Use the theme `dark`, `light` or `16` (colours)."""
        wanted = theme_for(self.terminal, "light" if name == "light" else "dark")
        self.theme = SIXTEEN.name if name == "16" else wanted.name
        self.remember()

    async def ask(self, question: Question) -> str | None:
        """Ask the operator a question (`core.ports.Ask`), one at a time; None: gave up."""
        async with self._asking:
            answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

            def answered(value: str | None) -> None:
                if not answer.done():
                    answer.set_result(value)

            dialog = QuestionDialog(question)
            self.open(dialog, answered)
            try:
                return await answer
            finally:
                if dialog in self.screen_stack and dialog is self.screen:
                    self.pop_screen()
