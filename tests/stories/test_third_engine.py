# ruff: noqa: ARG002 - an engine needs not all that it is given
"""An engine that the product does not know, from a spec to a finished log."""

import json
import sys
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import JobFailed
from core.ids import MachineName
from core.launch.engines.engine import SECRETS_FOLDER, FileOutput, StartResult
from core.launch.engines.registry import ENGINES
from core.launch.spec.spec import Spec
from core.model.run import RunState
from tests.support.evals import short_folder
from tests.support.launches import launching
from tests.support.specs import spec
from tests.support.waiting import WAIT_S


class Background:
    """Starts an eval in a session of its own, its display in a file."""

    name = "background"
    has_terminal = True
    start_timeout_s = 60.0
    needs: str | None = None

    def words(self, spec: Spec) -> tuple[str, ...]:
        return ("--display", "plain")

    def secrets_from(self, run: str) -> str:
        return f"{SECRETS_FOLDER}/{run}"

    def start(self, run: str, spec: Spec) -> str:
        return (
            "mkdir launched || { cat launch.json; exit 75; }\n"
            "setsid /bin/sh start.sh >display 2>&1 </dev/null &\n"
            "echo '{\"pid\": '$!'}' >launch.json; cat launch.json\n"
        )

    def attach(self, run: str, spec: Spec) -> tuple[str, ...]:
        return ("tail", "-f", f"/home/{run}/display")

    def read(self, status: int, out: str, err: str) -> StartResult:
        if not out:
            raise JobFailed(f"it was not put into the background: {err}")
        return StartResult(pid=json.loads(out)["pid"], output=FileOutput("display"))


async def test_a_third_engine_starts_and_finishes_a_real_eval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ENGINES, Background.name, Background())
    with short_folder() as folder:
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        machine = MachineConfig(name=MachineName("here"), link="command", python=sys.executable)
        async with launching([machine], Path(folder), secrets={"KEY": "sk-canary"}) as here:
            await here.watched.desk.first_poll(WAIT_S)
            asked = spec("secrets = ['KEY']", "machine=here", "engine=background")
            [run] = await here.launches.launch(here.checked(asked))
            run = await here.over(run)
            assert (run.state, run.status, run.engine) == (
                RunState.SUCCESS,
                "success",
                "background",
            )
            assert run.logs[0].metrics[0].value == pytest.approx(0.7)
            assert b"accuracy" in (await here.launches.output(run)).data
