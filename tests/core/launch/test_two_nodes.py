"""One home on two nodes: a run is its own node's, and the other node says so."""

import os
import sys
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.ids import MachineName
from core.model.run import RunState
from tests.support.launches import end_all, launching
from tests.support.specs import EVALS, spec
from tests.support.waiting import WAIT_S

pytestmark = pytest.mark.xdist_group("launches")

LONG = f"""
task = "turns.py@turns"
model = "mockllm/model"
machine = "node1"
on_error = "continue"
code = {{ directory = "{EVALS}" }}
args = {{ samples = 6, turns = 400, sleep = 0.5 }}
"""
SECOND = """#!/bin/sh
exec unshare --uts --pid --fork --mount-proc --kill-child sh -c '
hostname second-node
mount --bind {boot} /proc/sys/kernel/random/boot_id
exec "$@"' sh "$@"
"""
"""Becomes another host, which sees the same home and no process of the first."""


@pytest.fixture
def nodes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[MachineConfig, MachineConfig]:
    """Two nodes that share a home: this computer, and another host of its own boot."""
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    boot = folder / "boot_id"
    boot.write_text("11111111-2222-3333-4444-555555555555\n")
    second = folder / "second.sh"
    second.write_text(SECOND.format(boot=boot))
    second.chmod(0o755)
    return (
        MachineConfig(name=MachineName("node1"), link="command", python=sys.executable),
        MachineConfig(
            name=MachineName("node2"), link="command", command=(str(second),), python=sys.executable
        ),
    )


@pytest.mark.slow
async def test_a_run_of_one_node_is_elsewhere_on_the_other_until_its_log_has_ended(
    folder: Path, nodes: tuple[MachineConfig, MachineConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.launch.run.run_poller._DISCOVERY_INTERVAL_S", 1.0)
    monkeypatch.setattr("core.launch.run.run_poller._SELDOM_S", 1.0)
    node1, node2 = nodes
    (folder / "other").mkdir()
    async with launching([node1], folder) as here:
        await here.watched.desk.first_poll(WAIT_S)
        [run] = await here.launches.launch(here.checked(spec(text=LONG)))
        assert (run.state, run.is_ours) == (RunState.RUNNING, True)
        try:
            async with launching([node2], folder / "other") as there:
                seen = await there.comes_to(run.id, RunState.ELSEWHERE)
                assert (seen.host, seen.machine) == (os.uname().nodename, "node2")
                assert f"it was started on {seen.host}" in seen.message
                assert not seen.has_failed
            # Whichever machine answers first, the run comes to the machine where it runs.
            async with launching([node2, node1], folder / "other") as both:
                seen = await both.comes_to(run.id, RunState.RUNNING)
                assert (seen.machine, seen.pid, seen.message) == ("node1", run.pid, "")
                end_all([run.id])
                assert (await both.comes_to(run.id, RunState.LOST)).machine == "node1"
                async with launching([node2], folder / "other") as there:
                    # The second node can't know that the process is gone.
                    seen = await there.comes_to(run.id, RunState.ELSEWHERE)
                    assert seen.logs[0].status == "started"
        finally:
            end_all([run.id])
        run = await here.over(run)
        assert (run.state, run.status) == (RunState.LOST, "started")
