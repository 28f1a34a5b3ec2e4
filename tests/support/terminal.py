"""The app in a pseudo-terminal of its own: every byte that it writes is kept and can be read."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.screen import Screen
from tests.support.waiting import WAIT_S, wait_until


def _inherited() -> dict[str, str]:
    """The variables of this process without a size: the pty has its own."""
    return {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}


class Terminal:
    """A program on a pty of a fixed size.

    Attributes:
        output: Every byte that it wrote so far.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 120,
        lines: int = 40,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        main, side = pty.openpty()
        self._main = main
        self._size = columns, lines
        self.resize(columns, lines)
        self.output = bytearray()
        self.process = subprocess.Popen(
            command,
            stdin=side,
            stdout=side,
            stderr=side,
            env={**_inherited(), "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})},
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(side)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size; the program is told by SIGWINCH."""
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: str | bytes) -> None:
        """Send keys."""
        os.write(self._main, keys.encode() if isinstance(keys, str) else keys)

    def read(self, seconds: float) -> bytes:
        """Read what comes within `seconds`; return at the first pause of 10 ms after data."""
        got = bytearray()
        end = time.monotonic() + seconds
        while True:  # it looks at least once, however late this process gets its turn
            left = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([self._main], [], [], 0.01 if got else left)
            if not ready:
                break
            try:
                data = os.read(self._main, 65536)
            except OSError:
                break
            if not data:
                break
            got += data
            if time.monotonic() > end:
                break
        self.output += got
        return bytes(got)

    def until(self, wanted: str | bytes, seconds: float = WAIT_S) -> float:
        """Read until `wanted` was written (since the start); return the seconds that took.

        Raises:
            TimeoutError: It did not come.
        """
        sought = wanted.encode() if isinstance(wanted, str) else wanted
        began = time.monotonic()
        while sought not in self.output:
            if time.monotonic() - began > seconds or self.has_ended():
                raise TimeoutError(f"{wanted!r} was not written:\n{self.screen()}")
            self.read(0.05)
        return time.monotonic() - began

    def shows(self, words: str, seconds: float = WAIT_S) -> None:
        """Read until these words are on the screen.

        Raises:
            AssertionError: They did not come.
        """

        def is_there() -> bool:
            self.read(0.05)
            return words in self.screen()

        wait_until(
            is_there,
            f"{words!r} is on the screen",
            seconds,
            every=0.0,
            seen=lambda: f"\n{self.screen()}",
        )

    def wait_end(self, seconds: float = WAIT_S) -> int:
        """Read until the program ends, and all it wrote; return its exit status.

        Raises:
            AssertionError: It goes on.
        """
        wait_until(self.has_ended, "the program ends", seconds, every=0.0, seen=self.screen)
        return self.process.returncode

    def screen(self) -> str:
        """Return what the terminal shows, if it kept its first size."""
        screen = Screen(*self._size)
        screen.feed(bytes(self.output))
        return screen.text()

    def has_ended(self) -> bool:
        """Read for an instant; return whether the program ended, with all it wrote read."""
        is_over = self.process.poll() is not None
        return not self.read(0.05) and is_over

    def drain(self, seconds: float) -> int:
        """Read everything for `seconds`; return how many bytes came."""
        before = len(self.output)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)
        return len(self.output) - before

    def echoes(self) -> bool:
        """Whether it shows what is typed, as a shell expects it to."""
        flags: int = termios.tcgetattr(self._main)[3]
        return bool(flags & termios.ECHO)

    def hang_up(self) -> None:
        """Take the terminal away, as a closed window does."""
        os.close(self._main)
        self._main = os.open(os.devnull, os.O_RDWR)

    def settle(self, silence: float = 0.25, seconds: float = 10.0) -> None:
        """Read until nothing came for `silence` seconds (or `seconds` passed)."""
        end = time.monotonic() + seconds
        while self.read(silence) and time.monotonic() < end:
            pass

    def close(self) -> None:
        """End the program and its children, and free the pty."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            end = time.monotonic() + WAIT_S  # it cleans up first
            while self.process.poll() is None and time.monotonic() < end:
                self.read(0.05)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._main)
