"""A launch asks for the same words on screen and as a command."""

import asyncio
import re
from collections.abc import Collection
from dataclasses import replace

import pytest

from tests.support.busy_fleets import busy_fleet
from tests.support.commands import Home, machine
from tests.support.evals import short_folder
from tests.support.fleets import H1, H2
from tests.support.launch_forms import SIZE, planned, room_to_launch
from tests.support.rooms import screen_text
from tests.support.specs import SMOKE

pytestmark = pytest.mark.xdist_group("launches")


def words_of_the_command(machines: Collection[str], production: Collection[str]) -> str:
    """What the command wants to be typed before it starts the smoke test on these machines."""
    with short_folder() as folder:
        home = Home(folder)
        home.configure(
            "".join(
                machine(name) + f"production = {str(name in production).lower()}\n"
                for name in (H1, H2)
            )
        )
        (home.folder / "s.toml").write_text(SMOKE)
        ran = home.run("launch", "s.toml", "--yes", "--set", f"machine={list(machines)}")
    assert ran.status == 4, (ran.out, ran.err)
    found: list[str] = re.findall(r"add --confirm '([^']+)'", ran.err)
    return found[0]


async def words_on_screen(machines: Collection[str], production: Collection[str]) -> str:
    """What the room wants to be typed before it starts the same."""
    fleet = busy_fleet()
    marked = {
        name: replace(each, production=name in production) for name, each in fleet.machines.items()
    }
    _, app = room_to_launch(replace(fleet, machines=marked))
    async with app.run_test(size=SIZE) as pilot:
        await planned(pilot, machine=", ".join(machines))
        found: list[str] = re.findall(r"type (.+?) to start", screen_text(app))
        return found[0]


@pytest.mark.parametrize(
    ("machines", "production", "words"),
    [
        ([H1], [H1], "h100-1"),
        ([H1, H2], [H1, H2], "launch 2"),
        ([H1, H2], [H2], "launch 2"),
    ],
)
async def test_the_room_and_the_command_ask_for_the_same_words(
    machines: list[str], production: list[str], words: str
) -> None:
    printed = await asyncio.to_thread(words_of_the_command, machines, production)
    assert await words_on_screen(machines, production) == printed == words
