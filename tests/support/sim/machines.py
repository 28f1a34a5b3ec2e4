"""Many simulated machines behind one interpreter's path, for any kind of link."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.tree import ROOT


@dataclass(frozen=True, slots=True)
class Simulator:
    """The one program at the far side.

    Attributes:
        python: What a machine's config names as its `python`.
        pid: Of the simulator.
    """

    python: Path
    pid: int


@contextmanager
def simulator(
    folder: Path, *, processes: int = 5, samples: int = 20, changing: float = 1.0
) -> Generator[Simulator, None, None]:
    """Run the simulator; each link whose `python` is its path is a machine of its own.

    Args:
        folder: A short path: a socket lies in it.
        processes: Evals a machine.
        samples: Running samples an eval.
        changing: Samples that change each second, a machine.
    """
    socket = folder / "far.sock"
    wrapper = folder / "python"
    relay = Path(__file__).with_name("relay.py")
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -I {relay} {socket} "$@"\n')
    wrapper.chmod(0o755)
    words = ["--processes", str(processes), "--samples", str(samples)]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.support.sim.far_side",
            str(socket),
            *words,
            "--changing",
            str(changing),
        ],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"serving\n"
        yield Simulator(wrapper, server.pid)
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
