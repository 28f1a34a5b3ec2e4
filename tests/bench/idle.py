"""The cost of an idle room: nothing changes on any machine."""

from pathlib import Path

from tests.bench.rooms import room
from tests.bench.rows import Result
from tests.support.sim.machines import simulator
from tests.support.usage import Meter

CLOCK_BYTES = 120
"""Bytes of drawing the header's clock once."""


def measure(folder: Path, quick: bool) -> list[Result]:
    """Watch three machines on which nothing happens."""
    seconds = 10.0 if quick else 30.0
    with simulator(folder, processes=2, samples=20, changing=0) as sim:
        config = "".join(
            f'[[machines]]\nname = "m{n}"\nlink = "command"\npython = "{sim.python}"\n'
            for n in range(3)
        )
        with room(folder, config) as terminal:
            terminal.until("task_")
            terminal.drain(40)
            meter = Meter(terminal.process.pid)
            written = terminal.drain(seconds)
            share = meter.share()
    return [
        Result(what="idle room: of a core", value=share * 100, unit="%", goal=1.0),
        Result(
            what="idle room: bytes a second to the terminal (clock and ages)",
            value=written / seconds,
            unit="B/s",
        ),
    ]
