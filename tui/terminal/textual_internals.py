"""All uses of Textual's private names, behind public ones.

Textual is pinned. After an upgrade, `tests/tui/test_textual_internals.py` fails for each name that
changed.
"""

import asyncio
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from queue import Full, Queue
from typing import IO, Any, cast

from rich.console import Console
from rich.segment import Segment, Segments
from textual._compositor import ChopsUpdate, Compositor
from textual._styles_cache import StylesCache
from textual.app import App
from textual.color import Color
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

__all__ = ["ChopsUpdate", "OpenApp", "OpenCompositor", "OpenDriver", "lines_of", "use_compositor"]


class OpenApp(App[None], inherit_bindings=False):
    """Textual's app with an overridable crash message."""

    @property
    def terminal_driver(self) -> Driver | None:
        """The driver of the terminal; None before the start and after the end."""
        return self._driver

    def crash_text(self, error: Exception | None) -> str:
        """Return the text printed after a crash, once the terminal is restored.

        Args:
            error: The error; None if Textual does not know it.
        """
        raise NotImplementedError

    def _handle_exception(self, error: Exception) -> None:
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()  # pyright: ignore[reportUnknownMemberType]
        self._fatal_error()

    def _fatal_error(self) -> None:
        words = self.crash_text(self._exception)
        if words:
            self._exit_renderables.append(Segments([Segment(words)]))
        self._close_messages_no_wait()


class OpenDriver(LinuxDriver):
    """Textual's driver with overridable output, size and input.

    It handles SIGTSTP and SIGCONT between two turns of the loop. Textual handles them at once,
    which may be in the midst of a write: the handler then waits for the lock of that write.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)  # pyright: ignore[reportUnknownMemberType]
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self.stopped)
        loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)

    def write_to(self, file: IO[str]) -> None:
        """Write to this file in place of standard error."""
        self._file = file  # type: ignore[assignment]

    @property
    def is_writing(self) -> bool:
        """Whether the writing thread runs."""
        return self._writer_thread is not None

    @property
    def is_full(self) -> bool:
        """Whether the next write would block the whole program."""
        queue = self._queue
        return queue is not None and queue.full()

    @property
    def is_drained(self) -> bool:
        """Whether everything was written to the terminal."""
        queue = self._queue
        return queue is not None and queue.empty()

    def hand_over(self, data: str) -> None:
        """Hand data to the writing thread."""
        if self._writer_thread is not None:
            self._writer_thread.write(data)

    def stop_writing(self, timeout: float) -> None:
        """End the writing thread; abandon it after `timeout` seconds."""
        queue, thread = self._queue, self._writer_thread
        if queue is not None and thread is not None:
            with suppress(Full):
                queue.put_nowait(None)
            thread.join(timeout)

    def use_mouse(self, is_on: bool) -> None:
        """Turn mouse reporting on or off."""
        if is_on:
            self._mouse = True
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
            self._mouse = False

    @property
    def has_mouse(self) -> bool:
        """Whether mouse reporting is on."""
        return self._mouse

    def terminal_size(self) -> tuple[int, int]:
        """Return the terminal's size: columns, lines."""
        return super()._get_terminal_size()

    def read_input(self) -> None:
        """Read keys until the driver stops; runs in its own thread."""
        self.run_input_thread()

    @property
    def _queue(self) -> Queue[str | None] | None:
        thread: WriterThread | None = self._writer_thread
        if thread is None:
            return None
        return thread._queue  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.terminal_size()

    def stopped(self) -> None:
        """Give the terminal back and stop the process; called when it is asked to stop."""
        super()._sigtstp_application()  # pyright: ignore[reportUnknownMemberType]

    def continued(self) -> None:
        """Take the terminal again; called when the process goes on after a stop."""
        super()._sigcont_application()  # pyright: ignore[reportUnknownMemberType]

    def _run_input_thread(self) -> None:
        self.read_input()

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart:
            self.continued()


class OpenCompositor(Compositor):
    """Textual's compositor, which here leaves nothing behind in the lines that it cuts.

    Textual's own strips keep what they were cut into. A strip that is cut into one piece then holds
    itself, so only a full collection frees it: a room of a few hours held 30,000 of them.
    """

    def _get_renders(
        self, crop: Region | None = None
    ) -> Iterable[tuple[Region, Region, list[Strip]]]:
        for region, clip, strips in super()._get_renders(crop):
            yield region, clip, cast("list[Strip]", [_Uncut(strip) for strip in strips])


class _Uncut:
    """A strip whose pieces nobody keeps."""

    __slots__ = ("_strip",)

    def __init__(self, strip: Strip) -> None:
        self._strip = strip

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Cut the strip as `Strip.divide` does."""
        strip = self._strip
        inside = [cut for cut in cuts if cut <= strip.cell_length]
        if inside == [strip.cell_length]:
            return [strip]
        return Strip(strip, strip.cell_length).divide(inside)


@lru_cache(1024)
def _inner_and_outer(base: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base + background), Style(background=base)


def _without_self(_: StylesCache, base: Color, background: Color) -> tuple[Style, Style]:
    return _inner_and_outer(base, background)


# Textual's own keeps the object that asked, and so the lines of 1,024 widgets of closed screens.
StylesCache.get_inner_outer = _without_self  # type: ignore[assignment, method-assign]  # pyright: ignore[reportAttributeAccessIssue]


def forget_strips(widget: Widget) -> None:
    """Drop the lines of a widget that Textual keeps: it is off the screen for good."""
    widget._styles_cache.clear()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def use_compositor(screen: Screen[Any], compositor: Compositor) -> None:
    """Replace the compositor of a screen."""
    screen._compositor = compositor  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def is_composed_openly(screen: Screen[Any]) -> bool:
    """Return whether a screen has an `OpenCompositor`."""
    return isinstance(screen._compositor, OpenCompositor)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def lines_of(screen: Screen[Any]) -> list[Strip]:
    """Return the lines of a screen as they were drawn last."""
    return screen._compositor.render_strips()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def plain_console(console: Console) -> Console:
    """Return a console on the same file that does not treat its terminal as dumb."""
    return Console(
        file=console.file,
        color_system="standard",
        force_terminal=True,
        legacy_windows=False,
        safe_box=False,
        highlight=False,
        emoji=False,
        _environ={"TERM": "xterm"},
    )
