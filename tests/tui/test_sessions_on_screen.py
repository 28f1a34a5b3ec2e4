"""The terminals that runs left, on screen: one is ended by typing its name."""

from core.errors import JobFailed
from core.ids import MachineName
from core.launch.engines.tmux_sessions import TmuxSession
from core.launch.run.sessions import MachineSession
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import NOW
from tests.support.rooms import FakeRoom, app_on, services_on, shows
from tui.app import RoomApp

WIDE = (160, 46)


def session(name: str, *, has_ended: bool) -> MachineSession:
    return MachineSession(
        MachineName("h100-1"),
        TmuxSession(
            name=name, created=NOW - 60, attached=0, has_ended=has_ended, status=0, run="r1"
        ),
    )  # fmt: skip


class FakeSessions:
    """A list of sessions that the test sets."""

    def __init__(self, *found: MachineSession) -> None:
        self.found = found
        self.ended: list[str] = []

    async def list(self) -> tuple[MachineSession, ...]:
        return self.found

    async def end(self, found: MachineSession) -> None:
        if self.ended:
            raise JobFailed("session cybench_b can't be ended: no right")
        self.ended.append(found.session.name)


def room(*found: MachineSession) -> tuple[FakeSessions, RoomApp]:
    sessions = FakeSessions(*found)
    room = FakeRoom(busy_fleet())
    return sessions, app_on(room, services=services_on(room, sessions=sessions))


async def test_a_session_is_ended_by_its_name_alone() -> None:
    running, over = session("cybench_a", has_ended=False), session("cybench_b", has_ended=True)
    sessions, app = room(running, over)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("colon", *"sessions", "enter")
        await shows(pilot, "cybench_a  running")
        await pilot.press("enter")
        await shows(pilot, "its eval is still running and will be killed")
        await pilot.press(*"cybench", "enter")
        await shows(pilot, "the name does not match")
        assert sessions.ended == []
        await pilot.press(*"cybench", "underscore", "a", "enter")
        await shows(pilot, "cybench_a has ended")
        assert sessions.ended == ["cybench_a"]
        await pilot.press("colon", *"sessions", "enter")
        await shows(pilot, "cybench_b  ended")
        await pilot.press("j", "enter")
        await shows(pilot, "its eval has ended: its last screen will be lost")
        await pilot.press(*"cybench", "underscore", "b", "enter")
        await shows(pilot, "can't be ended: no right")


async def test_a_lack_of_sessions_is_reported() -> None:
    _, app = room()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("colon", *"sessions", "enter")
        await shows(pilot, "No run left a terminal")
