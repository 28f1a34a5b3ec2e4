"""A screen that reads more from an eval while it is open, and no more than it must.

One loop reads what the current pane needs, waits, and reads again. The wait is at least a
hundred times as long as the last read took, so that an eval never feels that it is watched.
"""

import asyncio
import time

from core.ctl.answer_errors import advice_for
from core.errors import EvalroomError
from core.ids import ProcessKey
from core.ports import Reply
from core.text import Shown, shown
from tui.screens.panes_screen import PanesScreen

_SHARE = 100.0


class PollingScreen(PanesScreen):
    """A screen with reads of its own."""

    period = 5.0
    """Seconds between two reads, when they are fast."""

    @property
    def read_from(self) -> ProcessKey:
        """The process that is asked."""
        raise NotImplementedError

    async def read_current(self) -> bool:
        """Read what the current pane needs and draw it; return whether to read again later.

        Raises:
            EvalroomError: It could not be read.
        """
        raise NotImplementedError

    def could_not_read(self, sentence: Shown) -> None:
        """Show why there is nothing to show."""
        raise NotImplementedError

    def sentence(self, error: EvalroomError) -> Shown:
        """Return what went wrong and what to do about it, as one piece of text."""
        process = self.ui.room.fleet.processes.get(self.read_from)
        advice = advice_for(error, process.python if process is not None else None)
        return shown(f"{error.message}; {advice}" if advice else error.message, 600)

    def on_mount(self) -> None:
        """Start the loop after the first drawing."""
        self._wake = asyncio.Event()
        self._took = 0.0
        super().on_mount()
        self.run_worker(self._reading(), name="reading", exit_on_error=False)

    def enter(self, index: int) -> None:
        """Read at once what the pane that was entered needs."""
        super().enter(index)
        self.read_soon()

    def read_soon(self) -> None:
        """Do not wait any longer."""
        if self.is_mounted:
            self._wake.set()

    async def read(self, process: ProcessKey, path: str) -> Reply:
        """GET a path, and note what it cost the eval."""
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
                self.could_not_read(self.sentence(error))
            wait = max(self.period, self._took * _SHARE) if again else None
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue
