"""The app under measurement: a config in a folder of its own, a pty, and keys."""

import re
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.screen import Screen
from tests.support.terminal import Terminal
from tests.support.tree import ROOT

EVALROOM = (sys.executable, "-m", "cli")
COLUMNS, LINES = 160, 46


def home_env(folder: Path) -> dict[str, str]:
    """Return variables that keep everything of the app inside `folder`."""
    names = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME")
    env: dict[str, str] = {}
    for name in names:
        place = folder / name.lower()
        place.mkdir(mode=0o700, exist_ok=True)
        env[name] = str(place)
    return env


@contextmanager
def room(
    folder: Path, config: str, *, columns: int = COLUMNS, lines: int = LINES
) -> Generator[Terminal, None, None]:
    """Open the room on `config` (TOML) in a pty; close it afterwards."""
    file = folder / "config.toml"
    file.write_text(config)
    file.chmod(0o600)
    terminal = Terminal(
        [*EVALROOM, "--config", str(file)],
        columns=columns,
        lines=lines,
        env=home_env(folder),
        cwd=ROOT,
    )
    try:
        yield terminal
    finally:
        terminal.close()


def until_shown(terminal: Terminal, pattern: str, seconds: float) -> float:
    """Wait until `pattern` (a regular expression) stands on screen; return the seconds it took.

    The screen is that of a room of the usual size, from its first byte on.

    Raises:
        TimeoutError: It did not come within `seconds`.
    """
    screen, fed = Screen(COLUMNS, LINES), 0
    began = time.monotonic()
    while True:
        screen.feed(bytes(terminal.output[fed:]))
        fed = len(terminal.output)
        if re.search(pattern, screen.text()):
            return time.monotonic() - began
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"{pattern!r} did not come on screen:\n{screen.text()}")
        terminal.drain(0.2)


def key_delays(terminal: Terminal, keys: Sequence[str], *, pause: float = 0.3) -> list[float]:
    """Press keys; return the seconds from each to the first bytes of what it changed.

    What the room draws by itself comes in bursts; a key is pressed in a silence of 30 ms.
    """
    delays: list[float] = []
    for key in keys:
        while terminal.read(0.03):
            pass
        began = time.monotonic()
        terminal.type(key)
        while not terminal.read(0.5):
            if time.monotonic() - began > 2:
                break
        delays.append(time.monotonic() - began - 0.010)
        terminal.drain(pause)
    return delays
