"""The demo in a terminal: the ordinary room, as a child process with the demo's own config.

This process only waits: it ends the eval-set and deletes its folder even if the room crashes.
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

from cli.commands.demo_eval import RUN, Demo, start
from core.text import shown
from storage.paths import private_folder, write_private

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)

LEAVING = "Leaving ends the demo's eval-set and deletes its folder."
"""The room's question before it closes, in a demo."""


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
        config_text: Returns the room's config as TOML.
        options: Global options for the room.
        crashes: The folder to which crash reports of the room are moved.
    """
    demo = start(seconds)
    try:
        config = demo.folder / "config.toml"
        write_private(config, config_text(demo).encode())
        words = [sys.executable, "-m", "cli.main", "--config", str(config)]
        words += ["--leaving", LEAVING, "--own-run", RUN, *options]
        status = _wait(words, _environment(demo.folder))
        _save_crashes(demo.folder / "state" / "evalroom" / "crashes", crashes)
    finally:
        if demo.exit_status is None:
            _say("ending the demo's eval-set ...")
        demo.stop()
    return status


def _wait(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the room to its end and return its exit status; pass signals on to it."""
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
    """Return the operator's environment, with the room's data and state in the demo's folder."""
    own = {f"XDG_{kind.upper()}_HOME": str(folder / kind) for kind in ("data", "state")}
    path = os.pathsep.join(each for each in sys.path if each)
    return {**os.environ, **own, "PYTHONPATH": path}


def _save_crashes(found: Path, kept: Path) -> None:
    for file in found.glob("*.txt"):
        place = private_folder(kept) / file.name
        shutil.move(file, place)
        _say(f"evalroom: the crash report is {shown(str(place), 400)}")


def _say(sentence: str) -> None:
    """Write a line to standard error, if it is still open."""
    with suppress(OSError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()
