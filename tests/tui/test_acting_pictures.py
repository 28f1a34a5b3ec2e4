"""Pictures of acting: the menu, a preview, one of many targets, the knobs, what became of it."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1
from tests.support.rooms import FakeRoom, app_on, services_on
from tests.support.scripted_acting import ScriptedActing
from tui.app import RoomApp

Picture = Callable[[RoomApp], None]
SMALL, USUAL, LARGE = (80, 24), (120, 40), (200, 50)
KNOBS = {
    "max_samples": {"limit": 10, "in_use": 4, "adjustable": True},
    "max_tasks": {"limit": 1, "launch": 1, "in_flight": 1, "pending": 0, "adjustable": True},
    "adaptive": [
        {"name": "acme/sec-agent", "limit": 24, "in_use": 20, "min": 1, "max": 40},
        {"name": "openai/gpt-5", "limit": 12, "in_use": 9, "min": 1, "max": 20},
    ],
    "max_sandboxes": [{"type": "docker", "limit": 8, "in_use": 8}],
    "retry": {"timeout": None, "attempt_timeout": None, "max_retries": None},
    "limits": {"time_limit": 3600, "token_limit": None, "message_limit": None},
    "concurrency": [{"name": "web_search", "limit": 4, "in_use": 1, "adjustable": True}],
    "buffer": {"log_buffer": 10, "pending": 3, "log_shared": None},
}
EDIT = ("c", "j", "enter", *(["backspace"] * 4), *"7200", "enter", "j", "j")


def acting_room() -> tuple[ScriptedActing, RoomApp]:
    room = FakeRoom(busy_fleet())
    machines = {**room.fleet.machines, H1: replace(room.fleet.machines[H1], production=True)}
    room.become(replace(room.fleet, machines=machines))
    room.answers = {"/tasks/t1/config": (200, json.dumps(KNOBS).encode())}
    acting = ScriptedActing(room)
    return acting, app_on(room, services=services_on(room, acting=acting))


@pytest.mark.parametrize(
    ("name", "keys", "size"),
    [
        ("room", (), LARGE),
        ("menu", ("a",), USUAL),
        ("menu of a sample", ("3", "a"), SMALL),
        ("preview", ("p",), SMALL),
        ("cancel", ("x", "s"), USUAL),
        ("many", ("A", "P"), LARGE),
        ("knobs", EDIT, USUAL),
        ("knobs in little room", EDIT, SMALL),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
async def test_acting(
    picture: Picture, name: str, keys: tuple[str, ...], size: tuple[int, int]
) -> None:
    del name
    acting, app = acting_room()
    acting.ours = size != LARGE
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        picture(app)
