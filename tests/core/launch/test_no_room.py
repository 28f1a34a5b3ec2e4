"""A launch where nothing can be written: a sentence, and nothing is left."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.run import RunState
from tests.support.launches import launching, wait_all_gone
from tests.support.reached import machine_of, trusting
from tests.support.small_disk import small_disk_at
from tests.support.specs import spec
from tests.support.sshd import Sshd
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")


@pytest.fixture
def full_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home on a disk on which nothing more can be written."""
    with small_disk_at(folder / "home") as home:
        with (home / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        monkeypatch.setenv("HOME", str(home))
        yield home


async def test_a_full_disk_is_reported_and_nothing_is_started(
    full_home: Path, folder: Path
) -> None:
    machine = MachineConfig(name=MachineName("local"), link="command")
    async with launching([machine], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec()))
        assert run.state is RunState.ERROR
        assert "no space is left" in run.message
        assert "Free some space on that disk" in run.message
        await asyncio.to_thread(wait_all_gone, run.id)
        assert not list((full_home / ".evalroom").rglob("*.toml"))


async def test_a_home_that_is_not_to_be_written_is_reported(sshd: Sshd, folder: Path) -> None:
    home = sshd.home("bob")
    home.chmod(0o500)
    try:
        known = trusting(sshd, folder)
        async with launching([machine_of(sshd, "bob")], folder, known_hosts=known) as here:
            await here.watched.desk.first_poll(WAIT_S)
            [run] = await here.launches.launch(here.checked(spec("", "machine=bob")))
            assert run.state is RunState.ERROR
            assert "can't be written: Permission denied" in run.message
            assert [each.name for each in home.iterdir()] == [".bashrc"]
    finally:
        home.chmod(0o755)
