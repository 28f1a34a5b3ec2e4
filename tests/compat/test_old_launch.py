"""An old Inspect on a machine is reported before a launch, with its limits."""

import sys
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.fleet import Fleet
from core.ids import MachineName
from tests.compat.test_old_inspect import python_with
from tests.support.fetching import LocalWorker
from tests.support.specs import plan, spec
from tests.support.surveys import of, preflight, texts
from tests.support.waiting import WAIT_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
HERE = MachineConfig(name=MachineName("local"), link="command", python=sys.executable)


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("0.3.246", "stop Inspect: Inspect 0.3.246 does not have --detach; "),
        ("0.3.252", "warning Inspect: Inspect 0.3.252 is too old to pause now, drain task"),
    ],
)
async def test_the_limits_of_an_old_inspect_are_reported(
    tmp_path: Path, version: str, says: str
) -> None:
    made = plan(spec(text=of("evalroom/smoke") + f'python = "{python_with(version)}"\n'))
    checks = await preflight(
        LocalWorker(tmp_path), made, HERE, Fleet(), secrets=(), deadline=WAIT_S
    )
    assert any(each.startswith(says) for each in texts(checks)), texts(checks)
