"""A room whose actions are scripted, and its preview."""

from textual.pilot import Pilot

from tests.support.busy_fleets import busy_fleet
from tests.support.rooms import FakeRoom, answerable, app_on, services_on
from tests.support.scripted_acting import ScriptedActing
from tui.app import RoomApp


def opened() -> tuple[FakeRoom, ScriptedActing, RoomApp]:
    """Return a room of a busy fleet, its actions, and the app over both."""
    room = FakeRoom(busy_fleet())
    acting = ScriptedActing(room)
    return room, acting, app_on(room, services=services_on(room, acting=acting))


async def seen(pilot: Pilot[None], *keys: str, words: str = "nothing has been sent") -> None:
    """Press keys, wait for the preview, and let the moment pass in which nothing confirms."""
    await pilot.press(*keys)
    await answerable(pilot, words)
