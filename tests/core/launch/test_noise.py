"""An interpreter that prints into every answer: a run on it is started, watched and scored."""

import sys
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.run import RunState
from tests.support.launches import launching
from tests.support.specs import spec
from tests.support.waiting import WAIT_S

pytestmark = [pytest.mark.xdist_group("launches"), pytest.mark.slow]

NOISE = r"""
import sys
sys.stdout.write("\x1b[?1034h\ufeffWelcome {\"event\": \"motd\"} ")
sys.stdout.flush()
"""


@pytest.mark.parametrize("where", ["python", "login"])
async def test_an_interpreter_or_a_login_that_prints_breaks_no_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    noise = folder / "noise"
    noise.mkdir()
    (noise / "sitecustomize.py").write_text(NOISE)
    login = folder / "login.sh"
    login.write_text('#!/bin/sh\nprintf "\\033[?1034hWelcome\\r\\n{"\nexec "$@"\n')
    login.chmod(0o755)
    local = MachineConfig(
        name=MachineName("here"), link="command", python=sys.executable,
        command=(str(login),) if where == "login" else (),
    )  # fmt: skip
    env = [f'env={{PYTHONPATH = "{noise}"}}'] if where == "python" else []
    async with launching([local], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec("", "machine=here", *env)))
        assert not run.has_failed, run.message
        run = await here.over(run)
        assert (run.state, run.message) == (RunState.SUCCESS, "")
        [log] = run.logs
        assert log.completed_samples == 10
