"""The screen of runs: all runs, newest first, and the page and output of the selected one."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import cast

from textual import on

from core import format as fmt
from core.act.target_expansion import ActionPlace
from core.errors import EvalroomError
from core.fleet import Fleet
from core.launch.engines.tmux_sessions import display_command
from core.launch.ports import OutputChunk
from core.model.run import Run
from core.quoting import plain_word
from core.text import Shown, shown, shown_lines
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.pages.run_page import (
    inspect_command,
    launch_command,
    output_lines,
    run_page,
)
from core.views.tables.runs import runs_table, way_to_tasks
from tui.dialogs.foreign_command import RECORDED, copy_foreign
from tui.keys.bindings import bindings
from tui.navigation import Place
from tui.panes.lines import LinesPane
from tui.panes.page import PagePane
from tui.panes.pane import Pane
from tui.panes.table import TablePane
from tui.screens.panes_screen import PanesScreen, put
from tui.screens.ports import RoomUi

_SETTLE_S = 0.4
"""The cursor stays on a run for this long before the run's output is read."""
_READ_EVERY_S = 3.0
"""How often the output of a running run is read."""
_COMMAND = 16_000
_SPEC = 100_000
_PAGE_SHARE = 0.5
_NOTHING = Shown("")


class RunsScreen(PanesScreen):
    """All known runs, including those of other operators."""

    BINDINGS = bindings("runs")

    def __init__(self, ui: RoomUi, place: Place) -> None:
        super().__init__(ui, place)
        self._wake = asyncio.Event()
        self._of: str | None = None
        """The id of the run whose output is shown."""
        self._output: OutputChunk | None = None
        self._unread = Shown("")
        self._shown: str | None = ""
        """The id of the run that the output pane is about."""

    def make_panes(self) -> tuple[Pane, ...]:
        """Make the list, the page and the output."""
        self.table = TablePane("1", id="runs")
        self.page = PagePane("2", id="run-page", name_in_bar="Run")
        self.output = LinesPane("3", id="run-output", follows_end=True, has_filter=True)
        return (self.table, self.page, self.output)

    def fill(self, fleet: Fleet, now: float) -> None:
        """Draw the runs."""
        self.table.show(runs_table(fleet, now))
        launches = self.controllers.launches
        if launches.newest is not None and self.table.move_to(launches.newest):
            launches.newest = None
        self._fill_page(fleet, now)
        self.ui.room.focus(None)

    def _fill_page(self, fleet: Fleet, now: float) -> None:
        run = self.run_here
        self.page.show_page(run_page(fleet, run, now))
        if (run.id if run is not None else None) != self._shown:
            self._fill_output()

    def place_panes(self, width: int, height: int) -> None:
        """The list above; below it the page, and beside that the output."""
        upper = min(self.table.wanted_height, max(height * 2 // 5, 6))
        left = int(width * _PAGE_SHARE)
        put(self.table, 0, 0, width, upper)
        put(self.page, 0, upper, left, height - upper)
        put(self.output, left, upper, width - left, height - upper)

    # Output

    def on_mount(self) -> None:
        """Draw, then read the output of the selected run."""
        super().on_mount()
        self.run_worker(self._reading(), name="reading output", exit_on_error=False)

    def enter(self, index: int) -> None:
        """Read the output now if its pane was entered."""
        super().enter(index)
        self._wake.set()

    @property
    def _is_output_shown(self) -> bool:
        return self.output.display and self.is_active

    async def _reading(self) -> None:
        while True:
            self._wake.clear()
            run, launches = self.run_here, self.controllers.launches
            wait: float | None = None
            if run is not None and launches.can_read_output and self._is_output_shown:
                try:
                    output = await launches.output(run)
                except EvalroomError as error:
                    self._take_output(run, None, shown(error.message, 400))
                else:
                    self._take_output(run, output)
                wait = None if run.has_ended else _READ_EVERY_S
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue
            await asyncio.sleep(_SETTLE_S)  # the cursor may move on

    def _take_output(self, run: Run, output: OutputChunk | None, unread: Shown = _NOTHING) -> None:
        here = self.run_here
        if here is not None and here.id == run.id:
            if self._of != run.id:
                self.output.top = 0
            self._of, self._output, self._unread = run.id, output, unread
            self._fill_output()

    def _fill_output(self) -> None:
        run, footer = self.run_here, ""
        lines: tuple[TextLine, ...]
        self._shown = run.id if run is not None else None
        if run is None:
            lines = (_line("no run is selected"),)
        elif not self.controllers.launches.can_read_output:
            lines = (_line("the output can't be read from here"),)
        elif self._of != run.id:
            lines = (_line("reading ..."),)
        elif self._output is None:
            lines = (_line(self._unread, "warning"),)
        else:
            output = self._output
            is_cut = len(output.data) < output.end
            lines = output_lines(output.data, is_cut=is_cut) or (
                _line("this run has printed nothing"),
            )
            footer = f"{'the end of ' * is_cut}{fmt.size(output.size)}"
        self.output.show(Shown("Output"), lines, footer=(span_of(footer, "dim"),) * bool(footer))

    @on(TablePane.CursorMoved)
    def _run_moved(self) -> None:
        room = self.ui.room
        self._fill_page(room.fleet, room.now())
        self._wake.set()

    def on_screen_resume(self) -> None:
        """Read the output again."""
        self._wake.set()

    # Selection

    @property
    def run_here(self) -> Run | None:
        """The run under the cursor."""
        return self.ui.room.fleet.runs.get(cast("str", self.table.cursor_key))

    def selected(self) -> Place:
        """Return the process of the selected run."""
        run = self.run_here
        process = self.ui.room.fleet.process_of_run(run) if run is not None else None
        return process.key if process is not None else None

    def targets(self) -> tuple[ActionPlace, ...]:
        """Return the processes of the marked runs, or of the selected one."""
        return tuple(self._processes(self.table.chosen_keys))

    def rows_shown(self) -> tuple[ActionPlace, ...]:
        """Return the processes of all runs shown."""
        return tuple(self._processes(row.key for row in self.table.rows))

    def _processes(self, keys: Iterable[object]) -> Iterator[ActionPlace]:
        fleet = self.ui.room.fleet
        for key in keys:
            run = fleet.runs.get(cast("str", key))
            process = fleet.process_of_run(run) if run is not None else None
            if process is not None:
                yield process.key

    # Keys

    def commands(self) -> Iterator[str]:
        """Yield the names of the keys that can do something to the selected run."""
        run = self.run_here
        if run is None:
            return
        if run.spec and self.controllers.can_launch:
            yield from ("duplicate", "run_again")
        if run.attach and not run.is_over:
            yield "attach"
        if run.command_line:
            yield "copy"
        if run.spec:
            yield "copy_launch"

    def open(self, pane: TablePane, key: object) -> None:
        """Go to the tasks of a run; if it has none, to its page."""
        del pane
        fleet = self.ui.room.fleet
        run = fleet.runs.get(cast("str", key))
        way = way_to_tasks(fleet, run) if run is not None else None
        if way is not None:
            self.ui.go(way)
        else:
            self.enter(self.panes.index(self.page))

    def action_duplicate(self) -> None:
        """Open the form on the spec of the selected run."""
        run = self.run_here
        if run is not None:
            self.controllers.launches.duplicate(run)

    def action_run_again(self) -> None:
        """Open the plan of the selected run's spec, unchanged."""
        run = self.run_here
        if run is not None:
            self.controllers.launches.again(run)

    def action_copy(self) -> None:
        """Copy Inspect's exact command."""
        run = self.run_here
        if run is None or not run.command_line:
            self.ui.say("There is nothing to copy here.", "warning")
        else:
            self._copy(shown(inspect_command(run), _COMMAND), "command", run)

    def action_copy_launch(self) -> None:
        """Copy the command that launches the same spec."""
        run = self.run_here
        if run is None or not run.spec:
            self.ui.say("The spec of this run is unknown.", "warning")
        else:
            self._copy(shown_lines(launch_command(run), _SPEC), "launch command", run)

    def _copy(self, text: Shown, what: str, run: Run) -> None:
        if self.ui.room.is_replay:
            copy_foreign(self.ui, text, what, RECORDED)
        elif run.is_ours:
            self.ui.copy(text, what)
        else:
            copy_foreign(self.ui, text, what, shown(run.operator or "Someone", 60))

    def action_attach(self) -> None:
        """Attach to the terminal of the selected run."""
        run = self.run_here
        machine = self.ui.room.fleet.machines.get(run.machine) if run is not None else None
        is_viewed = machine is not None and machine.read_only
        words = display_command(run.attach, read_only=is_viewed) if run is not None else ()
        if run is None or not words:
            self.ui.say(
                "This run has no terminal to attach to: only the tmux engine provides one.",
                "warning",
            )
        elif self.controllers.terminals is not None:
            self.controllers.terminals.attach(run)
        else:
            line = " ".join(plain_word(word) for word in words)
            self._copy(shown(line, _COMMAND), "command", run)


def _line(words: str, tone: Tone = "dim") -> TextLine:
    return (Span(shown(words, 400), tone),)
