"""Runs a desk on a config and says how late changes of samples were folded in.

    python -m tests.bench.lateness CONFIG --for SECONDS

A simulated sample's `last_activity_at` is when it changed, on this very computer's clock.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path

from core.config.file import read_config
from core.desk.desk import Desk
from core.events import Event, MachineNamed, SamplesSeen
from ssh.factory import connection_for
from tests.bench.rows import percentile
from tests.support.clocks import RealClock


async def _measured(path: Path, seconds: float) -> list[float]:
    config = read_config(path)
    late: list[float] = []
    settled = time.time() + seconds / 2

    def receive(event: Event) -> None:
        now = time.time()
        if isinstance(event, SamplesSeen) and not event.whole and now > settled:
            late.extend(
                now - row.last_activity_at
                for row in event.rows
                if row.last_activity_at is not None and row.last_activity_at > settled
            )

    desk = Desk(
        connections=[
            connection_for(each, known_hosts=path.parent / "known", read_only=True, ask=None)
            for each in config.machines
        ],
        named=[
            MachineNamed(at=time.time(), machine=each.name, address="", kind=each.link)
            for each in config.machines
        ],
        watch=config.watch,
        clock=RealClock(),
    )
    desk.listen(receive)
    running = asyncio.create_task(desk.run())
    await asyncio.sleep(seconds)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return late


def main() -> None:
    """Print the lateness as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("--for", dest="seconds", type=float, default=30.0)
    words = parser.parse_args()
    late = asyncio.run(_measured(words.config, words.seconds))
    print(json.dumps({"p50": percentile(late, 0.5), "p95": percentile(late, 0.95)}))


if __name__ == "__main__":
    main()
