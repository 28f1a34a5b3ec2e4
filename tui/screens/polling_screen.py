"""A screen that polls an eval for the content of its current pane while it is open.

The wait between two reads is at least a hundred times as long as the last read took, so that the
polls cost an eval less than 1% of its time.
"""

import asyncio
import time

from core.ctl.answer_errors import advice_for
from core.errors import EvalroomError, sentences
from core.ids import ProcessKey
from core.ports import Reply
from core.text import Shown, shown
from tui.screens.panes_screen import PanesScreen

_PAUSE_FACTOR = 100.0
"""The wait between two reads, as a multiple of the last read's duration."""


class PollingScreen(PanesScreen):
    """A screen that polls one process."""

    period = 5.0
    """Seconds between two reads that are fast."""

    @property
    def read_from(self) -> ProcessKey:
        """The process that is polled."""
        raise NotImplementedError

    async def read_current(self) -> bool:
        """Read and draw the content of the current pane; return whether to poll it again.

        Raises:
            EvalroomError: It could not be read.
        """
        raise NotImplementedError

    def show_error(self, sentence: Shown) -> None:
        """Show why the content can't be read."""
        raise NotImplementedError

    def sentence(self, error: EvalroomError) -> Shown:
        """Return an error as a sentence, followed by what to do about it."""
        process = self.ui.room.fleet.processes.get(self.read_from)
        advice = advice_for(error, process.python if process is not None else None)
        return shown(sentences(error.message, advice), 600)

    def on_mount(self) -> None:
        """Start polling after the first drawing."""
        self._wake = asyncio.Event()
        self._took = 0.0
        super().on_mount()
        self.run_worker(self._reading(), name="reading", exit_on_error=False)

    def enter(self, index: int) -> None:
        """Read the content of the entered pane now."""
        super().enter(index)
        self.read_soon()

    def read_soon(self) -> None:
        """Read now instead of waiting."""
        if self.is_mounted:
            self._wake.set()

    async def read(self, process: ProcessKey, path: str) -> Reply:
        """GET a path of the process, and remember how long it took."""
        began = time.monotonic()
        try:
            reply = await self.ui.room.read(process, path)
        finally:
            self._took = time.monotonic() - began
        self._took = reply.took
        return reply

    async def _reading(self) -> None:
        while True:
            self._wake.clear()
            again = True
            try:
                again = await self.read_current()
            except EvalroomError as error:
                self.show_error(self.sentence(error))
            wait = max(self.period, self._took * _PAUSE_FACTOR) if again else None
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue
