"""The screen of a sample: summary, events, messages and store as tabs.

Text written by the agent is read only after `!`, for this sample only, and is dropped when the
screen is left.
"""

from collections.abc import Iterable
from typing import cast

from core import format as fmt
from core.act.refusals import read_only_reason
from core.ctl.acp import can_be_steered, steering_line, steering_words
from core.ctl.event_cursor import EventFollower
from core.ctl.reads import follow_events, read_messages, read_sample, read_store
from core.errors import NotThere
from core.events import ContentRevealed
from core.fleet import Fleet
from core.ids import ProcessKey, SampleKey
from core.model.process import Process
from core.model.sample_detail import Messages, SampleDetail, Store
from core.text import Shown, shown
from core.views.cells import Span, TextLine
from core.views.pages.detail_lines import error_lines, event_lines, message_lines, store_lines
from core.views.pages.sample_page import sample_page
from tui.dialogs.foreign_command import RECORDED, copy_foreign
from tui.keys.bindings import bindings
from tui.navigation import Place
from tui.panes.lines import LinesPane
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.screens.polling_screen import PollingScreen
from tui.screens.ports import RoomUi

_LEAVE = "Ctrl+X leaves the client; the eval keeps running"
_NOT_STEERED = "This eval has no ACP server. Set acp = true in a spec to launch it with one."
_COMMAND = 4_000
_SUMMARY, _EVENTS, _MESSAGES, _STORE = range(4)


class SampleScreen(PollingScreen):
    """One sample."""

    BINDINGS = bindings("sample")
    period = 2.0

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._content = False
        self._eval_id = ""
        self._detail: SampleDetail | None = None
        self._unread: tuple[TextLine, ...] = ()
        self._following = EventFollower()
        self._read_once: set[int] = set()

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the tabs."""
        self.summary = PagePane("1", id="sample-page", name_in_bar="Summary")
        self.events = LinesPane("2", id="events", follows_end=True, has_filter=True)
        self.messages = LinesPane("3", id="messages", follows_end=True, has_filter=True)
        self.store = LinesPane("4", id="store", has_filter=True)
        titles = ("Events", "Messages", "Store")
        for pane, title in zip((self.events, self.messages, self.store), titles, strict=True):
            pane.show(Shown(title), [(Span(Shown("reading ..."), "dim"),)])
        return (self.summary, self.events, self.messages, self.store)

    @property
    def key(self) -> SampleKey:
        """The sample of this screen."""
        return cast("SampleKey", self.place)

    @property
    def read_from(self) -> ProcessKey:
        """The process that the sample runs in."""
        return self.key.task.process

    @property
    def shows_one_pane(self) -> bool:
        """Whether only the current tab is visible: always."""
        return True

    def commands(self) -> Iterable[str]:
        """Yield `reveal` until content is shown, and the steering keys if the eval allows them."""
        if not self._content:
            yield "reveal"
        if self._steered() is not None:
            yield from ("steer", "copy_steer")

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the summary: the sample's row, and the errors that were read."""
        detail = self._detail
        errors = error_lines(detail, content=self._content) if detail is not None else ()
        more = (*errors, *self._unread)
        self.summary.show_page(sample_page(fleet, self.key, now), more=more)
        self.ui.room.focus(self.key.task)

    def action_reveal(self) -> None:
        """Read and show the text that the agent wrote in this sample."""
        if not self._content:
            self._content = True
            self._tell_the_journal()
            self._following = EventFollower()
            self._read_once.clear()
            self.read_soon()
            self.say_keys()
            self.ui.say(
                "Text written by the agent is shown until you leave this sample.", "warning"
            )

    def _steered(self) -> tuple[Process, str] | None:
        """Return the process of the sample and its task's name; None: it can't be steered."""
        fleet = self.ui.room.fleet
        process, task = fleet.processes.get(self.read_from), fleet.tasks.get(self.key.task)
        if process is None or task is None or process.ended_at is not None:
            return None
        return (process, task.row.task) if can_be_steered(process) else None

    def _is_read_only(self) -> bool:
        """Say why nothing is steered on a read-only machine; False: its machine is not."""
        machine = self.ui.room.fleet.machines.get(self.key.task.machine)
        if machine is None or not machine.read_only:
            return False
        self.ui.say(read_only_reason([machine.name]), "warning")
        return True

    def action_steer(self) -> None:
        """Open Inspect's client on this sample."""
        steered = self._steered()
        if steered is None:
            self.ui.say(_NOT_STEERED, "warning")
        elif self._is_read_only():
            return
        elif self.controllers.terminals is None:
            self.action_copy_steer()
        else:
            words = steering_words(steered[0], self.key, steered[1])
            title = f"acp-{self.key.sample_id}"
            self.controllers.terminals.open(self.key.task.machine, words, title=title, leave=_LEAVE)

    def action_copy_steer(self) -> None:
        """Copy the command that steers this sample."""
        steered = self._steered()
        if steered is None:
            self.ui.say(_NOT_STEERED, "warning")
        elif not self._is_read_only():
            line = shown(steering_line(steered[0], self.key, steered[1]), _COMMAND)
            if self.ui.room.is_replay:
                copy_foreign(self.ui, line, "command", RECORDED)
            else:
                self.ui.copy(line, "command")

    def _tell_the_journal(self) -> None:
        """Record that the content of this sample was shown, and when; not the content."""
        room = self.ui.room
        task = room.fleet.tasks.get(self.key.task)
        if task is not None and not room.is_replay:
            eval_id = task.row.eval_id
            room.post(ContentRevealed(at=room.now(), sample=self.key, eval_id=eval_id))

    async def read_current(self) -> bool:
        """Read the content of the current tab."""
        task = self.ui.room.fleet.tasks.get(self.key.task)
        if task is None:
            raise NotThere("this task is no longer known")
        if task.row.eval_id != self._eval_id:
            self._eval_id = task.row.eval_id
            self._following = EventFollower()
            self._read_once.clear()
        sample = task.samples.get((self.key.sample_id, self.key.epoch))
        has_ended = task.is_over or (sample is not None and sample.has_ended)
        tab = self.current
        if tab in self._read_once:
            return not has_ended
        if tab == _EVENTS:
            await self._read_events()
            return not self._following.done
        if tab == _SUMMARY:
            detail = await read_sample(self.read, self.key, self._eval_id, content=self._content)
            self._detail, self._unread = detail, ()
            self.renew()
        elif tab == _MESSAGES:
            self._show_messages(
                await read_messages(self.read, self.key, self._eval_id, content=self._content)
            )
        elif tab == _STORE:
            self._show_store(
                await read_store(self.read, self.key, self._eval_id, content=self._content)
            )
        if has_ended:
            self._read_once.add(tab)
        return not has_ended

    def show_error(self, sentence: Shown) -> None:
        """Show in the current tab why it can't be read."""
        line: list[TextLine] = [(Span(sentence, "warning"),)]
        if self.current == _SUMMARY:
            self._unread = ((), *line)
            self.renew()
        elif self.current == _EVENTS and not self._following.events:
            self.events.show(Shown("Events"), line)
        elif self.current == _MESSAGES:
            self.messages.show(Shown("Messages"), line)
        elif self.current == _STORE:
            self.store.show(Shown("Store"), line)

    async def _read_events(self) -> None:
        before = self._following
        self._following = await follow_events(
            self.read, self.key, self._eval_id, before, content=self._content
        )
        if self._following is before:
            return
        lines = list(event_lines(self._following)) or [(Span(Shown("no event yet"), "dim"),)]
        count = fmt.plural(len(self._following.events), "event")
        state = "complete" if self._following.done else "live"
        self.events.show(Shown("Events"), lines, footer=self._footer(f"{count} · {state}"))

    def _show_messages(self, messages: Messages) -> None:
        lines = list(message_lines(messages)) or [(Span(Shown("no message yet"), "dim"),)]
        total = messages.count if messages.count is not None else len(messages.messages)
        footer = self._footer(fmt.plural(total, "message"))
        self.messages.show(Shown("Messages"), lines, footer=footer)

    def _show_store(self, store: Store) -> None:
        total = store.count if store.count is not None else len(store.entries)
        footer = self._footer(fmt.plural(total, "key"))
        self.store.show(Shown("Store"), list(store_lines(store)), footer=footer)

    def _footer(self, words: str) -> tuple[Span, ...]:
        if self._content:
            warning = Span(Shown("written by the agent: untrusted"), "warning")
            return (warning, Span(Shown(f" · {words}"), "dim"))
        return (Span(Shown("text withheld; ! shows it"), "dim"), Span(Shown(f" · {words}"), "dim"))
