"""The desk knows the same of an eval as `inspect ctl ... --json` prints."""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from core.ctl.reads import read_samples, read_tasks
from core.events import SamplesSeen
from core.model.sample import Sample, SampleId
from core.model.task import Task, TaskRow, TaskState
from tests.support.ctl import Ctl
from tests.support.desk_on_evals import Watched, watching_eval
from tests.support.evals import Eval, Evals
from tests.support.rows import CLOCKS, plain, sample_ids
from tests.support.shared_evals import parked_group, paused_group

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


def as_fields(row: TaskRow | Sample) -> dict[str, Any]:
    """Return a decoded row by Inspect's names, without clocks."""
    names = {each.name for each in dataclasses.fields(row)} - OURS - CLOCKS
    return {name: plain(getattr(row, name)) for name in names} | (
        {"activity": row.activity and dataclasses.asdict(row.activity)}
        if isinstance(row, Sample)
        else {
            "samples": {
                name: number
                for name, number in dataclasses.asdict(row.samples).items()
                if name != "abandoned"
            },
            "paused": list(row.paused) or None,
            "paused_now": list(row.paused_now) or None,
        }
    )


async def polled(watched: Watched, one: Eval, tasks: int) -> tuple[Task, ...]:
    """Wait until every task of an eval and its samples were polled."""

    def known() -> tuple[Task, ...] | None:
        found = watched.tasks(one)
        ready = len(found) == tasks and all(task.samples_as_of is not None for task in found)
        return found if ready else None

    return await watched.until(known, "tasks and samples")


async def test_tasks_and_samples_are_known_field_by_field(one: Eval, ctl: Ctl) -> None:
    rows = ctl.once(one, "task", "list")["tasks"]
    async with watching_eval(one) as watched:
        tasks = await polled(watched, one, len(rows))
    for task, theirs in zip(tasks, rows, strict=True):
        ours = as_fields(task.row)
        assert ours == {name: theirs[name] for name in ours}
        assert set(theirs) - set(ours) - CLOCKS == {"pid", "run_id", "socket_path"}
        envelope = ctl.once(one, "sample", "list", theirs["task_id"], "--all")
        assert counted(task) == envelope["counts"]
        for row in envelope["samples"]:
            sample = task.samples[row["sample_id"], row["epoch"]]
            known = as_fields(sample)
            assert known == {name: row[name] for name in known}
        assert set(task.samples) == sample_ids(envelope["samples"])


@parked_group
async def test_a_parked_task_is_a_success_only_once_its_log_is_read(parked_eval: Eval) -> None:
    async with watching_eval(parked_eval) as watched:
        tasks = await polled(watched, parked_eval, 4)
        assert {task.row.status for task in tasks} == {"completed"}

        def over() -> Task | None:
            found = watched.tasks(parked_eval)
            assert {task.state for task in found} <= {TaskState.FINISHING, TaskState.SUCCESS}
            return next((task for task in found if task.state is TaskState.SUCCESS), None)

        task = await watched.until(over, "a log's header")
        assert task.header is not None
        assert task.header.eval_id == task.row.eval_id
        assert task.header.metrics[0].name == "accuracy"
        assert task.header.metrics[0].stderr is not None


COUNTERS = ("total_tokens", "total_messages", "http_retries", "refusals", "attempts")
GROWING = ("completed", "errored", "cancelled")
SAMPLE_COUNTERS = ("total_tokens", "message_count", "turn_count", "total_time")


async def test_a_running_eval_is_between_two_reads_and_deltas_add_up_to_the_whole(
    evals: Evals, ctl: Ctl
) -> None:
    one = evals.start(
        "turns", "tools", args={"samples": 200, "sleep": 0.4, "seconds": 0.4}, keep=True,
        options=("--max-samples=2", "--max-tasks=2"),
    ).wait_ready()  # fmt: skip
    # A task's start is its process's until a sample of it has one: some of both are over by then.
    one.wait_rows(lambda rows: len(rows) == 2 and all(r["samples"]["completed"] for r in rows))
    async with watching_eval(one) as watched:
        first = {task.key.task_id: task for task in await polled(watched, one, 2)}
        rows = {row["task_id"]: row for row in (await asking(ctl, one, "task", "list"))["tasks"]}
        lists = {key: await asking(ctl, one, "sample", "list", key, "--all") for key in first}
        process = await watched.key(one)
        after = {row.task_id: row for row in (await read_tasks(watched.desk.read, process)).rows}
        for key, task in first.items():
            between_rows(task.row, rows[key], after[key])
            last = await read_samples(watched.desk.read, task.key, task.row.eval_id, all_rows=True)
            between_samples(task.samples, lists[key]["samples"], last.rows)

        await asyncio.to_thread(one.pause)
        await asyncio.to_thread(one.wait_quiesced, 2)
        lists = {key: await asking(ctl, one, "sample", "list", key, "--all") for key in first}

        def added_up() -> bool:
            return all(knows(task, lists[task.key.task_id]) for task in watched.tasks(one))

        await watched.until(added_up, "what was added up is the whole")
        wholes = [event.whole for event in watched.events if isinstance(event, SamplesSeen)]
        assert False in wholes


def counted(task: Task) -> dict[str, int]:
    """Return a task's samples by status, in Inspect's words."""
    assert task.counts is not None
    counts = dataclasses.asdict(task.counts)
    assert counts.pop("abandoned") == 0
    return counts


def knows(task: Task, envelope: Mapping[str, Any]) -> bool:
    """Whether a task's samples and counts are those of the command line, field by field."""
    if counted(task) != envelope["counts"]:
        return False
    if set(task.samples) != sample_ids(envelope["samples"]):
        return False
    pairs = (
        (as_fields(task.samples[row["sample_id"], row["epoch"]]), row)
        for row in envelope["samples"]
    )
    return all(ours == {name: row[name] for name in ours} for ours, row in pairs)


async def asking(ctl: Ctl, one: Eval, *words: str) -> Any:
    """Ask the command line without holding the desk up."""
    return await asyncio.to_thread(ctl, one, *words)


def between_rows(first: TaskRow, row: Mapping[str, Any], last: TaskRow) -> None:
    """Hold a task row of the command line between two of ours."""
    ours = as_fields(first)
    for name in ours.keys() - {"samples", "completed_at", "status", *COUNTERS}:
        assert ours[name] == row[name], name
    for name in COUNTERS:
        assert getattr(first, name) <= row[name] <= getattr(last, name), name
    for name in GROWING:
        low, high = getattr(first.samples, name), getattr(last.samples, name)
        assert low <= row["samples"][name] <= high, name


def between_samples(
    first: Mapping[SampleId, Sample], rows: Sequence[Mapping[str, Any]], last: Sequence[Sample]
) -> None:
    """Hold sample rows of the command line between two readings of ours."""
    later = {(sample.sample_id, sample.epoch): sample for sample in last}
    assert sample_ids(rows) == set(first) == set(later)
    for row in rows:
        key = row["sample_id"], row["epoch"]
        for name in SAMPLE_COUNTERS:
            low, high = (getattr(each[key], name) or 0 for each in (first, later))
            assert low <= (row[name] or 0) <= high, (key, name)
