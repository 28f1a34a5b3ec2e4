"""Pictures of the main screen at its three sizes, and of the screens within."""

from collections.abc import Callable

import pytest

from tests.support.busy_fleets import busy_fleet
from tests.support.rooms import FakeRoom, app_on
from tui.app import RoomApp

Picture = Callable[[RoomApp], None]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)], ids=lambda size: str(size[0]))
async def test_the_main_screen(picture: Picture, size: tuple[int, int]) -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        picture(app)


async def test_a_task(picture: Picture) -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("enter")
        await pilot.pause()
        picture(app)


async def test_a_machine_in_a_light_theme(picture: Picture) -> None:
    app = app_on(FakeRoom(busy_fleet()))
    async with app.run_test(size=(120, 40)) as pilot:
        app.use_theme("light")
        await pilot.press("1", "j", "j", "enter")
        await pilot.pause()
        picture(app)
