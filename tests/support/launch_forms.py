"""The launch form over a launch service that a test tells, and keys that fill it in."""

from typing import Any

from textual.pilot import Pilot

from core.fleet import Fleet
from tests.support.busy_fleets import busy_fleet
from tests.support.launching import ScriptedLaunching
from tests.support.rooms import FakeRoom, answerable, app_on, services_on, shows
from tui.app import RoomApp

SIZE = (120, 40)


def room_to_launch(fleet: Fleet | None = None, **more: Any) -> tuple[ScriptedLaunching, RoomApp]:
    room = FakeRoom(fleet or busy_fleet())
    launching = ScriptedLaunching(room)
    return launching, app_on(room, services=services_on(room, launching=launching, **more))


async def typed(pilot: Pilot[None], text: str) -> None:
    """Type in the current field, in place of what stands there."""
    await pilot.press("end", "ctrl+u", *text)


async def smoke(pilot: Pilot[None], *, machine: str = "h100-1") -> None:
    """Fill the form of the smoke test but for what happens on an error."""
    await pilot.press("n")
    await shows(pilot, "New run from")
    await pilot.press("enter")
    await shows(pilot, "Launch · smoke")
    await pilot.press("up", "up", "up")  # from on_error, the one field to fill in, to machine
    await typed(pilot, machine)


async def ready(pilot: Pilot[None], *, machine: str = "h100-1") -> None:
    """Fill the form of the smoke test; on errors it continues."""
    await smoke(pilot, machine=machine)
    await pilot.press("ctrl+r", "enter")
    await shows(pilot, "What happens when a sample errors")
    await pilot.press("down", "enter")
    await shows(pilot, 'on_error = "continue"')


async def planned(pilot: Pilot[None], *, machine: str = "h100-1") -> None:
    """Come to the plan of the smoke test."""
    await ready(pilot, machine=machine)
    await pilot.press("ctrl+r")
    await answerable(pilot, "Plan · nothing has been started")
