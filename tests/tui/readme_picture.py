"""Draws the picture of the README from the app itself.

python -m tests.tui.readme_picture FILE
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from tests.support.busy_fleets import busy_fleet
from tests.support.pictures import svg_of
from tests.support.rooms import FakeRoom, app_on

SIZE = (140, 38)


async def _drawn() -> str:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        return svg_of(app)


def main() -> None:
    """Write the picture."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    Path(sys.argv[1]).write_text(asyncio.run(_drawn()) + "\n")


if __name__ == "__main__":
    main()
