"""What the desk knows of an eval is what `inspect ctl ... --json` says of it."""

import asyncio
import dataclasses
from typing import Any

import pytest

from core.model.sample import Sample
from core.model.task import Task, TaskRow, TaskState
from tests.support.ctl import Ctl
from tests.support.desk_on_evals import Watched, watching_eval
from tests.support.evals import Eval, Evals, parked_group, paused_group
from tests.support.rows import CLOCKS, plain, sample_ids

BOTH = [
    pytest.param("parked_eval", marks=parked_group),
    pytest.param("paused_eval", marks=paused_group),
]
OURS = {"raw", "has_error"}
"""Fields that no row of Inspect has."""


@pytest.fixture(params=BOTH)
def one(request: pytest.FixtureRequest) -> Eval:
    """An eval where nothing moves."""
    found: Eval = request.getfixturevalue(request.param)
    return found


def said(row: TaskRow | Sample) -> dict[str, Any]:
    """Return a decoded row by Inspect's names, without clocks."""
    names = {each.name for each in dataclasses.fields(row)} - OURS - CLOCKS
    return {name: plain(getattr(row, name)) for name in names} | (
        {"activity": row.activity and dataclasses.asdict(row.activity)}
        if isinstance(row, Sample)
        else {
            "samples": dataclasses.asdict(row.samples),
            "paused": list(row.paused) or None,
            "paused_now": list(row.paused_now) or None,
        }
    )


async def looked(watched: Watched, one: Eval, tasks: int) -> tuple[Task, ...]:
    """Wait until every task of an eval and its samples were looked at."""

    def known() -> tuple[Task, ...] | None:
        found = watched.tasks(one)
        ready = len(found) == tasks and all(task.samples_as_of is not None for task in found)
        return found if ready else None

    return await watched.until(known, "tasks and samples")


async def test_tasks_and_samples_are_known_field_by_field(one: Eval, ctl: Ctl) -> None:
    rows = ctl.once(one, "task", "list")["tasks"]
    async with watching_eval(one) as watched:
        tasks = await looked(watched, one, len(rows))
    for task, theirs in zip(tasks, rows, strict=True):
        ours = said(task.row)
        assert ours == {name: theirs[name] for name in ours}
        assert set(theirs) - set(ours) - CLOCKS == {"pid", "socket_path"}
        envelope = ctl.once(one, "sample", "list", theirs["task_id"], "--all")
        assert task.counts is not None
        assert dataclasses.asdict(task.counts) == envelope["counts"]
        for row in envelope["samples"]:
            sample = task.samples[row["sample_id"], row["epoch"]]
            known = said(sample)
            assert known == {name: row[name] for name in known}
        assert set(task.samples) == sample_ids(envelope["samples"])


@parked_group
async def test_a_parked_task_is_a_success_only_once_its_log_said_so(parked_eval: Eval) -> None:
    async with watching_eval(parked_eval) as watched:
        tasks = await looked(watched, parked_eval, 4)
        assert {task.row.status for task in tasks} == {"completed"}

        def over() -> Task | None:
            found = watched.tasks(parked_eval)
            assert {task.state for task in found} <= {TaskState.FINISHING, TaskState.SUCCESS}
            return next((task for task in found if task.state is TaskState.SUCCESS), None)

        task = await watched.until(over, "a log's header", 45)
        assert task.header is not None
        assert task.header.eval_id == task.row.eval_id
        assert task.header.metrics[0].name == "accuracy"
        assert task.header.metrics[0].stderr is not None


COUNTERS = ("total_tokens", "total_messages", "http_retries", "refusals", "attempts")
GROWING = ("completed", "errored", "cancelled")
SAMPLE_COUNTERS = ("total_tokens", "message_count", "turn_count", "total_time")


@pytest.mark.timeout(120)
async def test_a_running_eval_is_between_two_looks_of_ours(evals: Evals, ctl: Ctl) -> None:
    one = evals.start(
        "turns", "tools", args={"samples": 40, "sleep": 0.4, "seconds": 0.4}, keep=True,
        options=("--max-samples=4", "--max-tasks=2"),
    ).wait_ready()  # fmt: skip
    one.wait_rows(lambda rows: len(rows) == 2 and all(r["samples"]["completed"] for r in rows))
    async with watching_eval(one) as watched:
        before = {task.row.task_id: task for task in await looked(watched, one, 2)}
        listed = await asyncio.to_thread(ctl, one, "task", "list")
        samples = {
            key: await asyncio.to_thread(ctl, one, "sample", "list", key, "--all") for key in before
        }
        asked = max(listed["as_of"], *(envelope["as_of"] for envelope in samples.values()))

        def newer() -> tuple[Task, ...] | None:
            found = watched.tasks(one)
            fresh = all(task.as_of > asked and (task.samples_as_of or 0) > asked for task in found)
            return found if fresh else None

        after = {
            task.row.task_id: task for task in await watched.until(newer, "looks after the CLI's")
        }
    assert len(listed["tasks"]) == 2
    for row in listed["tasks"]:
        first, last = before[row["task_id"]], after[row["task_id"]]
        ours = said(first.row)
        moving = {"samples", "completed_at", "status", *COUNTERS}
        for name in ours.keys() - moving:
            assert ours[name] == row[name], name
        for name in COUNTERS:
            assert getattr(first.row, name) <= row[name] <= getattr(last.row, name), name
        for name in GROWING:
            low, high = (getattr(task.row.samples, name) for task in (first, last))
            assert low <= row["samples"][name] <= high, name
        envelope = samples[row["task_id"]]
        assert sample_ids(envelope["samples"]) == set(first.samples) == set(last.samples)
        for each in envelope["samples"]:
            key = each["sample_id"], each["epoch"]
            for name in SAMPLE_COUNTERS:
                low, high = (getattr(task.samples[key], name) or 0 for task in (first, last))
                assert low <= (each[name] or 0) <= high, (key, name)
