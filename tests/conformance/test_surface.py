"""Features of an Inspect, its lacks, and the equivalent command in a real shell."""

import asyncio
import json
import subprocess
import time
from typing import Any

import pytest

from core.ctl import cli_commands, reads, routes
from core.ctl.answer_errors import good_body
from core.ctl.features import REQUIREMENTS, surface
from core.errors import NotThere, Unsupported
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.process import Process, ProcessState
from core.ports import Reply
from tests.support.ctl import Ctl
from tests.support.evals import Eval
from tests.support.rows import still
from tests.support.shared_evals import parked_group
from tests.support.waiting import WAIT_S

pytestmark = parked_group


def reader(one: Eval) -> reads.ReadFunction:
    """Read an eval straight over its socket."""

    async def read(process: ProcessKey, path: str) -> Reply:
        del process
        started = time.time()
        status, body = await asyncio.to_thread(one.ask, "GET", path)
        took = time.time() - started
        return Reply(at=started, took=took, status=status, error=None, body=body)

    return read


def task_of(one: Eval, row: dict[str, Any]) -> TaskKey:
    return TaskKey(ProcessKey(MachineName("local"), one.pid, "s"), row["task_id"])


async def test_this_inspect_has_all_that_is_known_to_be_brought(parked_eval: Eval) -> None:
    process = ProcessKey(MachineName("local"), parked_eval.pid, "s")
    found = surface(good_body(await reader(parked_eval)(process, routes.OPENAPI), "its routes"))
    assert [feature for feature in REQUIREMENTS if not found.has(feature)] == []
    assert found.takes("cancel task", "dry_run")


async def test_a_missing_thing_differs_from_a_route_that_an_old_inspect_lacks(
    parked_eval: Eval,
) -> None:
    row = parked_eval.tasks()[0]
    missing = SampleKey(task_of(parked_eval, row), "no such sample", 1)
    with pytest.raises(NotThere, match="no such sample"):
        await reads.read_sample(reader(parked_eval), missing, row["eval_id"])
    reply = await reader(parked_eval)(missing.task.process, "/a/route/of/the/future")
    with pytest.raises(Unsupported):
        good_body(reply, "it")


def test_the_equivalent_command_says_the_same_in_a_shell(parked_eval: Eval, ctl: Ctl) -> None:
    row = parked_eval.task("turns")
    sample = SampleKey(task_of(parked_eval, row), "s001", 1)
    process = Process(
        key=sample.task.process,
        state=ProcessState.PARKED,
        since=0.0,
        data_dir=str(parked_eval.data_dir),
        python=parked_eval.python,
    )
    command = cli_commands.sample_show(process, sample) + " --json"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd="/", capture_output=True, check=True, timeout=WAIT_S
    )
    theirs = ctl.once(parked_eval, "sample", "show", row["task_id"], "s001", "1")
    assert still(json.loads(done.stdout)) == still(theirs)
