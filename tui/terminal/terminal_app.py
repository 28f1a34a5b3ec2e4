"""The terminal side of the app: signals, hang-ups, crashes, stalled terminals, few colours.

The terminal is always restored. A crash prints a short panel; its report goes to a private file.
Neither contains values of local variables.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from textual.filter import LineFilter, Monochrome, NoColor

from core.config.model import ScreenConfig
from core.text import Shown, shown
from tui.terminal.crash_report import report_of, sentence_of
from tui.terminal.driver import RoomDriver
from tui.terminal.foreground import ProgramEnd, run_program
from tui.terminal.key_queue import KeyQueueApp
from tui.terminal.output_filters import AsciiFilter, HarmlessFilter, JoinedFilter, to_ascii
from tui.terminal.sequences import (
    KEEP_TITLE,
    RESTORE_TITLE,
    clipboard_sequences,
    title_sequence,
)
from tui.terminal.shutdown import GRACE_S, end_after, ended_by_signals
from tui.terminal.textual_internals import plain_console
from tui.theme import terminal_features

_OF_KEYS = (signal.SIGINT, signal.SIGQUIT)
"""Signals that the terminal's own keys send to every foreground process."""


_FLOOD_NOTE_S = 5.0
"""Dropped keys are reported at most once in this time."""


class TerminalApp(KeyQueueApp, inherit_bindings=False):
    """An app that takes, lends and restores its terminal.

    Args:
        config: The config's `[screen]` table.
        keep_crash: Writes a crash report and returns its path; None: reports are not kept.
        environ: Describes the terminal; None: the process's own environment.
    """

    def __init__(
        self,
        config: ScreenConfig,
        *,
        keep_crash: Callable[[str], str | None] | None,
        environ: Mapping[str, str] | None,
    ) -> None:
        self.config = config
        self._environ = os.environ if environ is None else environ
        self.terminal = terminal_features(self._environ, wants_ascii=config.ascii)
        super().__init__(driver_class=RoomDriver)
        self.animation_level = "none"
        if self.terminal.depth in {"16", "none"}:
            # A console on a dumb terminal reports a size of its own, and Textual would resize
            # the screen for ever between the two.
            self.console = plain_console(self.console)
        self._keep_crash = keep_crash
        self._title_sent = Shown("")
        self._joined_filter = JoinedFilter(())
        self._is_leaving = False
        self._has_dropped_keys = False
        self._lending = asyncio.Lock()
        self._take_signals: Callable[[], None] = _ignore
        """Sets the handlers of the signals that end the room, after a program had the terminal."""

    def save_view(self) -> None:
        """Save the view; called before every exit."""

    # Start and end

    async def run_in_terminal(self) -> int:
        """Run until it ends, and return the exit status.

        Signals are answered from before the terminal is taken until it is given back: in
        between, one that kills would leave it as no shell can use it.
        """
        with ended_by_signals(self.leave, grace_s=GRACE_S, has_screen=True) as take_signals:
            self._take_signals = take_signals
            await self.run_async(mouse=self.config.mouse)
        return self.return_code or 0

    def take_terminal(self) -> None:
        """Push the terminal's title, and handle errors of tasks that nobody awaits."""
        asyncio.get_running_loop().set_exception_handler(self._unheard)
        if isinstance(driver := self.terminal_driver, RoomDriver):
            driver.key_arrived = self.key_typed
        self.write(KEEP_TITLE)

    def give_terminal(self) -> None:
        """Restore the title."""
        self.write(RESTORE_TITLE)

    def leave(self, status: int = 0) -> None:
        """Save and exit, within two seconds, whatever hangs."""
        if self._is_leaving:
            return
        self._is_leaving = True
        self.save_view()
        if not self.is_headless:
            end_after(GRACE_S, status, has_screen=True)
        self.exit(return_code=status)

    async def run_in_foreground(self, words: Sequence[str], line: Shown) -> ProgramEnd | None:
        """Lend the terminal to a program; redraw the whole screen once it has ended.

        Args:
            words: The program and its arguments.
            line: Printed first: what runs and why.

        Returns:
            None: the app has no terminal to lend.
        """
        driver = self.terminal_driver
        if driver is None or not driver.can_suspend:
            return None
        loop = asyncio.get_running_loop()
        given_up = asyncio.Event()
        if self.terminal.is_ascii:
            line = Shown(to_ascii(line))
        async with self._lending:
            with self.suspend():
                for number in _OF_KEYS:
                    loop.add_signal_handler(number, given_up.set)
                try:
                    ended = await run_program(words, line, given_up)
                finally:
                    for number in _OF_KEYS:
                        loop.remove_signal_handler(number)
                    self._take_signals()
            self._title_sent = Shown("")
            self.action_redraw()
        return ended

    def check_terminal(self) -> bool:
        """Leave if the terminal is gone, and return False; redraw if frames were dropped."""
        driver = self.terminal_driver
        if not isinstance(driver, RoomDriver):
            return True
        if not driver.check():
            self.leave(129)
            return False
        if driver.has_dropped and driver.is_drained:
            driver.has_dropped = False
            self.action_redraw()
        return True

    # Crashes and failures

    def crash_text(self, error: Exception | None) -> str:
        """Keep a report and the view; return a short panel: no traceback, no values."""
        lines: list[str] = []
        if error is not None:
            path = self.keep_report(error)
            lines.append(f"evalroom crashed: {sentence_of(error)}")
            if path:
                lines.append(f"The report is in {shown(path, 400)}.")
            lines.append(
                "Evals keep running. Start evalroom again. If the terminal looks odd, run: reset"
            )
        self.save_view()
        return "".join(f"{line}\n" for line in lines)

    def keep_report(self, error: BaseException) -> str | None:
        """Write a report of an error, without values; return its path, or None if that failed."""
        if self._keep_crash is None:
            return None
        try:
            return self._keep_crash(report_of(error))
        except OSError:
            return None

    def _unheard(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.keep_report(error)
            self.say(f"An internal task failed: {sentence_of(error)}", "warning")

    # Output

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filter for every line that is written: all filters in one."""
        # NO_COLOR is handled here; Textual would use shades of grey.
        filters = [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]
        if self.terminal.depth == "none":
            filters.append(_NO_COLOUR)
        filters.append(_HARMLESS)
        if self.terminal.is_ascii:
            filters.append(_ASCII)
        if self._joined_filter.filters != tuple(filters):
            self._joined_filter = JoinedFilter(filters)
        return (self._joined_filter,)

    def write(self, sequence: str) -> None:
        """Write an escape sequence to the terminal."""
        driver = self.terminal_driver
        if driver is not None and not self.is_headless:
            driver.write(sequence)

    def say_title(self, words: Shown) -> None:
        """Set the terminal's title if it changed."""
        if words != self._title_sent:
            self._title_sent = words
            self.write(title_sequence(Shown(to_ascii(words)) if self.terminal.is_ascii else words))

    def say(self, sentence: str, tone: str = "plain") -> None:
        """Show a sentence for a few seconds at the edge of the screen."""
        severity = {"warning": "warning", "error": "error"}.get(tone, "information")
        self.notify(shown(sentence, 400), markup=False, severity=cast("Any", severity))

    def keys_dropped(self) -> None:
        """Report that keys were dropped."""
        if not self._has_dropped_keys:
            self._has_dropped_keys = True
            self.set_timer(_FLOOD_NOTE_S, self._flood_over)
            self.say("Too many keys at once: waiting keys were dropped.", "warning")

    def _flood_over(self) -> None:
        self._has_dropped_keys = False

    def action_mouse(self) -> None:
        """Turn the mouse on or off."""
        driver = self.terminal_driver
        if isinstance(driver, RoomDriver):
            driver.use_mouse(not driver.has_mouse)
            on = "The mouse is on. Hold Shift or Option to select text."
            self.say(on if driver.has_mouse else "The mouse is off. The terminal selects text.")

    def action_redraw(self) -> None:
        """Redraw the whole screen."""
        self.write("\x1b[2J")
        self.refresh(repaint=True, layout=True)
        self.screen.refresh(repaint=True, layout=True)
        for widget in self.screen.walk_children():
            cast("Any", widget).refresh()

    def copy(self, text: Shown, what: str) -> None:
        """Ask the terminal to copy a text; terminals do not confirm it."""
        limit = self.config.clipboard_limit
        sequences = clipboard_sequences(text, self._environ, limit)
        if sequences is None:
            self.say(
                f"The {what} is too long for the clipboard ({len(text)} characters).", "warning"
            )
            return
        for sequence in sequences:
            self.write(sequence)
        self.say(f"Copied the {what}: {text}")


def _ignore() -> None:
    return


_HARMLESS, _ASCII, _NO_COLOUR = HarmlessFilter(), AsciiFilter(), NoColor()
