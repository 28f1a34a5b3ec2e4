"""The demo with a terminal: the ordinary room, as a child, on the demo's own config.

The parent only waits. So the eval-set is ended and its folder removed however the room goes,
and the room of a demo is the room of every day.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from cli.commands.demo_eval import Demo, start
from core.text import shown
from storage.paths import private_folder, write_private

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

LEAVING = "The demo's eval-set ends with the room, and its folder goes with it."
"""What leaving the room of a demo means: not what it means every day."""


def demo_in_the_room(
    seconds: float,
    *,
    config_text: Callable[[Demo], str],
    options: Sequence[str],
    crashes: Path,
) -> int:
    """Start the demo, open the room on it, clean up; return the room's exit status.

    Args:
        seconds: About how long the eval-set takes.
        config_text: Makes the room's config, as TOML.
        options: Global options for the room.
        crashes: Where a crash file of the room is kept; it would go with the demo's folder.
    """
    demo = start(seconds)
    try:
        config = demo.folder / "config.toml"
        write_private(config, config_text(demo).encode())
        words = [sys.executable, "-m", "cli.main", "--config", str(config)]
        words += ["--leaving", LEAVING, *options]
        status = _wait(words, _environment(demo.folder))
        _save_crashes(demo.folder / "state" / "evalroom" / "crashes", crashes)
    finally:
        if demo.exit_status is None:
            _say("ending the demo's eval-set ...")
        demo.stop()
    return status


def _wait(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the room to its end; signals to us go on to it."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        if child is None:
            early.append(number)
        elif number != signal.SIGINT:  # the terminal sends that one to both
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _SIGNALS}
    try:
        child = subprocess.Popen(words, env=environment)  # noqa: S603 - ourselves
        for number in early:
            child.send_signal(number)
        status = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _environment(folder: Path) -> Mapping[str, str]:
    """The operator's environment; what the room keeps goes with the demo."""
    own = {f"XDG_{kind.upper()}_HOME": str(folder / kind) for kind in ("data", "state")}
    path = os.pathsep.join(each for each in sys.path if each)
    return {**os.environ, **own, "PYTHONPATH": path}


def _save_crashes(found: Path, kept: Path) -> None:
    for file in found.glob("*.txt"):
        place = private_folder(kept) / file.name
        shutil.move(file, place)
        _say(f"evalroom: the crash file is kept as {shown(str(place), 400)}")


def _say(sentence: str) -> None:
    """Tell the terminal, if it is still there."""
    with suppress(OSError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()
