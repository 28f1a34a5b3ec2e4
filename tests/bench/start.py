"""From the start of the process to the first frame, and to the first live rows."""

import subprocess
import sys
import time
from pathlib import Path

from tests.bench.rooms import room
from tests.bench.rows import Result, percentile
from tests.support.tree import ROOT


def measure(folder: Path, quick: bool) -> list[Result]:
    """Start the room on this computer, with one simulated eval on it."""
    words = [
        sys.executable,
        "-m",
        "tests.support.sim.eval_server",
        str(folder / "d"),
        "--samples",
        "20",
    ]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, cwd=ROOT)
    frames: list[float] = []
    rows: list[float] = []
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"serving\n"
        config = f'[[machines]]\nname = "here"\nlink = "command"\ndata_dir = "{folder / "d"}"\n'
        for _ in range(3 if quick else 7):
            began = time.monotonic()
            with room(folder, config) as terminal:
                terminal.until("Machines")
                frames.append(time.monotonic() - began)
                terminal.until("task_")
                rows.append(time.monotonic() - began)
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    return [
        Result(
            what="start to first frame, median",
            value=percentile(frames, 0.5),
            unit="s",
            goal=0.6,
        ),
        Result(
            what="start to first live rows of this computer, median",
            value=percentile(rows, 0.5),
            unit="s",
            goal=1.2,
        ),
    ]
