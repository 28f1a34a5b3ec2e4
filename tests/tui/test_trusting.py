"""Accepting a host key: from any pane, and where it can't be written down."""

from core.errors import StorageError
from core.ids import MachineName
from core.model.machine import LinkState
from tests.support.fleets import H2, fleet_after, link, named
from tests.support.rooms import FakeRoom, app_on, screen_text, shows


class _FullDisk(FakeRoom):
    def accept_key(self, machine: MachineName, fingerprint: str) -> None:
        super().accept_key(machine, fingerprint)
        raise StorageError("known_hosts can't be written (No space left on device)", "mend that")


async def test_the_key_asks_also_while_another_pane_is_selected() -> None:
    room = FakeRoom(
        fleet_after(
            named(H2), named(), link(machine=H2),
            link(LinkState.NEEDS_TRUST, fingerprint="SHA256:abc", reason="new"),
        )
    )  # fmt: skip
    app = app_on(room)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("2", "T")
        await shows(pilot, "Type h100-1")
        await pilot.press(*"h100-1", "enter")
        await shows(pilot, "The host key of h100-1 is accepted")


async def test_a_key_that_can_not_be_kept_is_reported_and_the_room_goes_on() -> None:
    room = _FullDisk(
        fleet_after(named(), link(LinkState.NEEDS_TRUST, fingerprint="SHA256:abc", reason="new"))
    )
    app = app_on(room)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await pilot.press("1", "T")
        await shows(pilot, "SHA256:abc")
        await pilot.press(*"h100-1", "enter")
        await shows(pilot, "No space left")
        assert "is accepted" not in screen_text(app)
