"""A real tmux of its own, driven with send-keys and read with capture-pane."""

import shutil
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import join

from tests.support.waiting import WAIT_S, wait_until


class Tmux:
    """One session of one tmux server.

    Attributes:
        socket: The server's socket, a short path.
    """

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def run(self, *words: str) -> str:
        """Run a tmux command; return what it printed."""
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), "-f", "/dev/null", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_S,
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self.run("send-keys", "-t", "room", *keys)

    def screen(self) -> str:
        """Return what the pane shows now."""
        return self.run("capture-pane", "-p", "-t", "room")

    def title(self) -> str:
        """Return the pane's title."""
        return self.run("display-message", "-p", "-t", "room", "#{pane_title}").strip()

    def resize(self, columns: int, lines: int) -> None:
        """Change the window's size."""
        self.run("resize-window", "-t", "room", "-x", str(columns), "-y", str(lines))

    def is_alive(self) -> bool:
        """Whether the program in the pane still runs."""
        return bool(self.run("list-panes", "-t", "room").strip())

    def until(self, wanted: Callable[[str], object] | str, seconds: float = WAIT_S) -> str:
        """Wait until the screen is as wanted (holds a text); return it.

        Raises:
            AssertionError: It did not come to that.
        """
        screen = ""

        def is_there() -> object:
            nonlocal screen
            screen = self.screen()
            return wanted in screen if isinstance(wanted, str) else wanted(screen)

        wait_until(is_there, f"on the screen: {wanted}", seconds, seen=lambda: f"\n{screen}")
        return screen

    def until_gone(self, seconds: float = WAIT_S) -> None:
        """Wait until the program in the pane ended."""
        wait_until(
            lambda: not self.is_alive(), "the program in the pane ended", seconds, seen=self.screen
        )


@contextmanager
def in_tmux(
    folder: Path,
    command: Sequence[str],
    *,
    columns: int,
    lines: int,
    env: Mapping[str, str],
) -> Generator[Tmux, None, None]:
    """Run `command` in a tmux of its own; end both afterwards."""
    assert shutil.which("tmux"), "tmux is needed: scripts/system-packages names what is missing"
    tmux = Tmux(folder / "tmux")
    variables = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
    size = ["-x", str(columns), "-y", str(lines)]
    tmux.run("new-session", "-d", "-s", "room", *size, *variables, join(command))
    try:
        yield tmux
    finally:
        tmux.run("kill-server")
