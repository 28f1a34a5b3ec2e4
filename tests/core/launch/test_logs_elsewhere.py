"""A run whose logs are not in a folder of its machine: only Inspect can look there."""

import sys
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.run import RunState
from tests.support.launches import launching
from tests.support.specs import spec
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")


@pytest.mark.slow
async def test_logs_at_a_url_are_read_by_inspect(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    local = MachineConfig(name=MachineName("here"), link="command", python=sys.executable)
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        where = f"log_dir=file://{folder}/there"
        [run] = await here.launches.launch(here.checked(spec("", "machine=here", where)))
        run = await here.over(run)
        assert (run.state, run.message) == (RunState.SUCCESS, "")
        [log] = run.logs
        assert log.completed_samples == 10
