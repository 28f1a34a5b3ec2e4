"""Hosts whose clocks are wrong, with a real probe on such a clock."""

import shutil
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.machine import ProbeFound
from tests.support.desk_on_evals import watching
from tests.support.reached import PYTHON

HOST = MachineName("host")


@pytest.mark.parametrize("hours", [3, -3])
async def test_a_machine_whose_clock_is_wrong_is_up_and_its_offset_is_known(
    hours: int, tmp_path: Path
) -> None:
    assert shutil.which("faketime"), "scripts/system-packages names what the tests need: faketime"
    command = ("faketime", "-f", f"{hours:+}h", "env")
    machine = MachineConfig(
        name=HOST, link="command", command=command, python=PYTHON, data_dir=str(tmp_path)
    )
    async with watching([machine], tmp_path / "known_hosts") as watched:

        def known() -> ProbeFound | None:
            return watched.fleet.machines[HOST].probe

        probe = await watched.until(known, "the probe answers")
        assert probe.clock_offset == pytest.approx(hours * 3_600, abs=30)
        assert watched.fleet.machines[HOST].link.is_up
        await watched.goes_on(1)
        assert watched.fleet.machines[HOST].link.is_up
