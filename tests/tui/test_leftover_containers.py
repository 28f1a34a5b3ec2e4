"""Leftover containers are removed from the guides' screen, after their preview."""

from tests.support.leftovers import Desk, fleet_with, left, read, runner_on
from tests.support.rooms import FakeRoom, app_on, services_on, shows

SIZE = (160, 46)


async def test_leftover_containers_are_removed_once_their_words_are_typed() -> None:
    desk = Desk(fleet_with(read(left(1), left(2))))
    guiding = runner_on(desk)
    await guiding.cleanup()
    room = FakeRoom(desk.fleet)
    app = app_on(room, services=services_on(room, guiding=guiding))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("W")
        await shows(pilot, "remove 2 containers of ended evals on h100-1")
        await pilot.press("enter")
        await shows(pilot, "Type remove 2 to remove them.")
        await shows(pilot, "docker rm --force --volumes")
        await pilot.press(*"yes", "enter")
        await shows(pilot, "the name does not match")
        assert desk.jobs == []
        await pilot.press(*"remove", "space", "2", "enter")
        await shows(pilot, "2 containers removed by Ada")
    [job] = desk.jobs
    assert set(job.given["containers"]) == {left(1).id, left(2).id}
