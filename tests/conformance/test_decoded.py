"""What `core.ctl.reads` makes of an eval's answers is what `inspect ctl ... --json` says."""

import asyncio
import dataclasses
import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from core.ctl import commands, reads
from core.ctl.following import Following
from core.ctl.versions import NEEDED
from core.errors import NotThere, Unsupported
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.process import Process, ProcessState
from core.ports import Reply
from tests.support.ctl import Ctl
from tests.support.evals import Eval, Evals, parked_group, paused_group
from tests.support.rows import still

BOTH = [
    pytest.param("parked_eval", marks=parked_group),
    pytest.param("paused_eval", marks=paused_group),
]
NAMED = ("task_id", "task", "sample_id", "epoch")
"""What the command line adds to an answer."""


@pytest.fixture(params=BOTH)
def one(request: pytest.FixtureRequest) -> Eval:
    """An eval where nothing moves."""
    found: Eval = request.getfixturevalue(request.param)
    return found


def reader(one: Eval) -> reads.Read:
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


def some_samples(one: Eval) -> Iterator[tuple[dict[str, Any], SampleKey]]:
    """A started sample of each task and one with an error."""
    for task in one.tasks():
        rows = [row for row in one.samples(task["task"]) if row["started_at"]]
        errored = [row for row in rows if row["status"] == "error"]
        for row in (*rows[:1], *errored[:1]):
            yield task, SampleKey(task_of(one, task), row["sample_id"], row["epoch"])


def words_of(sample: SampleKey) -> tuple[str, str, str]:
    return sample.task.task_id, str(sample.sample_id), str(sample.epoch)


def raws(rows: Any) -> list[Any]:
    return [json.loads(row.raw) for row in rows]


async def test_rows_of_tasks_and_samples(one: Eval, ctl: Ctl) -> None:
    read = reader(one)
    process = ProcessKey(MachineName("local"), one.pid, "s")
    found = await reads.read_tasks(read, process)
    theirs = ctl.once(one, "task", "list")["tasks"]
    assert still(raws(found.rows)) == still(theirs, "pid", "socket_path")
    assert found.malformed == ()
    for row in theirs:
        samples = await reads.read_samples(read, task_of(one, row), row["eval_id"], all_rows=True)
        envelope = ctl.once(one, "sample", "list", row["task_id"], "--all")
        assert still(raws(samples.rows)) == still(envelope["samples"], "task_id", "task")
        assert samples.counts is not None
        assert dataclasses.asdict(samples.counts) == envelope["counts"]
        assert samples.truncated == envelope["truncated"]


async def test_a_samples_detail_and_its_errors(one: Eval, ctl: Ctl) -> None:
    for task, sample in some_samples(one):
        theirs = ctl.once(one, "sample", "show", *words_of(sample))
        ours = await reads.read_sample(reader(one), sample, task["eval_id"])
        assert still(json.loads(ours.raw), *NAMED) == still(theirs, *NAMED)
        assert (ours.error is not None) == (theirs["error"] is not None)
        if ours.error is None:
            continue
        assert ours.error.message is None
        theirs = ctl.once(one, "sample", "show", *words_of(sample), "--traceback")
        told = await reads.read_sample(reader(one), sample, task["eval_id"], content=True)
        assert told.error is not None
        assert told.error.message == theirs["error"]["message"]
        assert told.error.traceback == theirs["error"]["traceback"]
        assert [error.message for error in told.error_retries] == [
            error["message"] for error in theirs["error_retries"]
        ]


@pytest.mark.parametrize("content", [False, True])
async def test_events_messages_and_store(one: Eval, ctl: Ctl, content: bool) -> None:
    asked = ("--content",) if content else ()
    for task, sample in some_samples(one):
        words, eval_id = words_of(sample), task["eval_id"]
        following = Following()
        for _ in range(3):
            following = await reads.follow_events(
                reader(one), sample, eval_id, following, content=content
            )
        theirs = ctl.once(one, "sample", "events", *words, "--from-start", "--limit", "500", *asked)
        ours = raws(following.events)
        assert still(ours, *_withheld(content)) == still(theirs["events"], *_withheld(content))
        assert following.done == theirs["done"]

        found = await reads.read_messages(reader(one), sample, eval_id, content=content)
        theirs = ctl.once(one, "sample", "messages", *words, "--all", *asked)
        assert raws(found.messages) == theirs["messages"]
        assert (found.status, found.count) == (theirs["status"], theirs["count"])

        kept = await reads.read_store(reader(one), sample, eval_id, content=content)
        theirs = ctl.once(one, "sample", "store", *words, *asked)
        assert json.loads(kept.raw)["store"] == theirs["store"]
        assert {entry.key: entry.value for entry in kept.entries} == {
            key: entry.get("value") for key, entry in theirs["store"].items()
        }


def _withheld(content: bool) -> tuple[str, ...]:
    return () if content else ("completion", "arguments", "result", "error", "data")


async def test_knobs_and_throughput(one: Eval, ctl: Ctl) -> None:
    for row in one.tasks():
        knobs = ctl.once(one, "config", row["task_id"])["knobs"]
        view = await reads.read_task_config(reader(one), task_of(one, row))
        assert view.max_samples is not None
        assert view.max_samples.limit == knobs["max_samples"]["limit"]
        assert view.max_samples.in_use == knobs["max_samples"]["in_use"]
        assert {name: {"override": value} for name, value in view.retry.items()} == {
            name: {"override": knobs[name]["override"]} for name in view.retry
        }
        assert [
            (each.name, each.limit, each.minimum, each.maximum) for each in view.connections
        ] == [
            (each["name"], each["limit"], each["min"], each["max"])
            for each in knobs["max_connections"]["adaptive"]
        ]
        assert view.buffer is not None
        assert view.buffer.log_buffer == knobs["log_buffer"]["value"]
    process = ProcessKey(MachineName("local"), one.pid, "s")
    ours = await reads.read_throughput(reader(one), process)
    theirs = ctl.once(one, "model", "throughput")["models"]
    assert [(each.model, each.total_requests, each.total_tokens) for each in ours.models] == [
        (each["model"], each["cumulative"]["requests"], each["cumulative"]["total_tokens"])
        for each in theirs
    ]
    assert all(each.last_activity_at is not None for each in ours.models)


async def test_this_inspect_has_all_that_is_known_to_be_brought(one: Eval) -> None:
    process = ProcessKey(MachineName("local"), one.pid, "s")
    surface = await reads.read_surface(reader(one), process)
    assert [feature for feature in NEEDED if not surface.has(feature)] == []
    assert surface.takes("cancel task", "dry_run")


async def test_what_is_not_there_is_told_from_what_an_old_inspect_lacks(one: Eval) -> None:
    row = one.tasks()[0]
    missing = SampleKey(task_of(one, row), "no such sample", 1)
    with pytest.raises(NotThere, match="no such sample"):
        await reads.read_sample(reader(one), missing, row["eval_id"])
    assert await reads.read_task_score(reader(one), task_of(one, row)) is None
    reply = await reader(one)(missing.task.process, "/a/route/of/the/future")
    with pytest.raises(Unsupported):
        reads.good_body(reply, "it")


@parked_group
def test_the_equivalent_command_says_the_same_in_a_shell(parked_eval: Eval, ctl: Ctl) -> None:
    _, sample = next(some_samples(parked_eval))
    process = Process(
        key=sample.task.process,
        state=ProcessState.PARKED,
        since=0.0,
        data_dir=str(parked_eval.data_dir),
        python=parked_eval.python,
    )
    command = commands.sample_show(process, sample) + " --json"
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd="/", capture_output=True, check=True, timeout=50
    )
    theirs = ctl.once(parked_eval, "sample", "show", *words_of(sample))
    assert still(json.loads(done.stdout)) == still(theirs)


async def test_events_of_a_running_sample_settle_while_they_are_followed(evals: Evals) -> None:
    one = evals.start(
        "tools", keep=True, args={"samples": 1, "naps": 3, "seconds": 0.6, "think": 0.4}
    ).wait_ready()
    (task,) = one.tasks()
    sample = SampleKey(task_of(one, task), 1, 1)
    read, following, pending = reader(one), Following(), set[str | None]()
    async with asyncio.timeout(30):
        while not following.done:
            try:
                following = await reads.follow_events(read, sample, task["eval_id"], following)
            except NotThere:  # it has not started
                continue
            finally:
                await asyncio.sleep(0.1)
            pending |= {event.uuid for event in following.events if event.pending}
    assert pending, "no event was ever seen pending"
    whole = await reads.read_events(read, sample, task["eval_id"])
    assert raws(following.events) == raws(whole.events)
    assert not any(event.pending for event in following.events)
    assert following.restarts == 0
