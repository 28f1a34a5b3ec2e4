"""A room with one run that can be attached to; `python -m tests.support.attaching_room SPEC`."""

import asyncio
import json
import os
import sys
from pathlib import Path

from core.config.model import MachineConfig
from core.events import RunChanged
from core.model.run import Run, RunState
from tests.support.rooms import FakeRoom, app_on, services_on
from tui.navigation import RUNS
from tui.services import AttachSettings

RUN = "20261129-210255-vdmc2a9g"


class BeatingRoom(FakeRoom):
    """A room whose event loop can be seen to go on."""

    def __init__(self, beat: Path | None) -> None:
        super().__init__()
        self.beat = beat

    async def run(self) -> None:
        count = 0
        while True:
            count += 1
            if self.beat is not None:
                self.beat.write_text(str(count))
            await asyncio.sleep(0.05)


def main(given: str) -> None:
    """Open the room.

    Args:
        given: JSON: the machine's config, the attach words, the way, known_hosts, the folder.
    """
    spec = json.loads(given)
    config = dict(spec["machine"], command=tuple(spec["machine"].get("command", ())))
    machine = MachineConfig(**config)
    room = BeatingRoom(Path(spec["folder"]) / "beat")
    run = Run(
        id=RUN,
        machine=machine.name,
        at=room.at,
        operator="Ada",
        state=RunState.RUNNING,
        task="evalroom/smoke",
        model="mockllm/model",
        engine="tmux",
        attach=tuple(spec["attach"]),
    )
    room.happen(RunChanged(at=room.at, run=run))
    settings = AttachSettings(machines=(machine,), way=spec["way"], known_hosts=spec["known_hosts"])
    app = app_on(
        room,
        services=services_on(room, attach=settings),
        environ={**os.environ, "COLORTERM": "truecolor"},
    )
    app.call_later(app.go, RUNS)
    app.run()


if __name__ == "__main__":
    main(sys.argv[1])
