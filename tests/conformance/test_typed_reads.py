"""Decoded reads through a real probe say, field by field, what `inspect ctl ... --json` says."""

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import msgspec
import pytest

from core.ctl import cli_commands, reads
from core.ctl.event_cursor import EventFollower
from core.ids import SampleKey, TaskKey
from core.model.knobs import ConfigView, LimitView
from core.model.sample_detail import SampleError, SampleEvent, SampleMessage, Store
from tests.support.ctl import Ctl
from tests.support.desk_on_evals import Watched, watching_eval
from tests.support.evals import Eval, Evals
from tests.support.rows import RATES, still
from tests.support.shared_evals import hostile_group, parked_group, paused_group

ALL = [
    pytest.param("parked_eval", marks=parked_group),
    pytest.param("paused_eval", marks=paused_group),
    pytest.param("hostile_eval", marks=hostile_group),
]


WORDS = ("error", "limit_reason")
"""Fields of a sample whose text is not kept with its row."""


@pytest.fixture(params=ALL)
def one(request: pytest.FixtureRequest) -> Eval:
    """An eval where nothing moves."""
    found: Eval = request.getfixturevalue(request.param)
    return found


def words(event: SampleEvent) -> Mapping[str, Any]:
    """Lay an event out by Inspect's names."""
    answer = {
        "event": event.kind,
        "uuid": event.uuid,
        "timestamp": event.at,
        "pending": event.pending or None,
        "tokens": event.tokens,
        "stop_reason": event.stop_reason,
        "has_error": event.has_error,
        **dict.fromkeys(("model", "function", "source"), event.name),
    }
    return answer | dict(event.content)


def same_event(event: SampleEvent, theirs: Mapping[str, Any]) -> None:
    """Hold an event against Inspect's."""
    text = words(event)
    for name in text.keys() & theirs.keys():
        answer = theirs[name]
        assert text[name] == (
            answer if isinstance(answer, str | int | float | None) else _json(answer)
        ), name


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def same_message(message: SampleMessage, theirs: Mapping[str, Any]) -> None:
    """Hold a message against Inspect's."""
    assert (message.index, message.role) == (theirs["index"], theirs["role"])
    assert message.function == theirs.get("function")
    assert message.has_error == theirs.get("has_error")
    assert message.content == theirs.get("content")
    calls = [call.function for call in message.calls]
    assert calls == [call["function"] for call in theirs.get("tool_calls") or ()]


def same_store(store: Store, theirs: Mapping[str, Any]) -> None:
    """Hold a store against Inspect's."""
    assert store.count == theirs["count"]
    assert [entry.key for entry in store.entries] == list(theirs["store"])
    for entry in store.entries:
        answer = theirs["store"][entry.key]
        assert (entry.type, entry.size, entry.value) == (
            answer["type"],
            answer["size"],
            answer.get("value"),
        )


def same_error(error: SampleError | None, theirs: Mapping[str, Any] | None) -> None:
    """Hold an error against Inspect's."""
    answer = None if error is None else (error.message, error.traceback)
    assert answer == (None if theirs is None else (theirs.get("message"), theirs.get("traceback")))


async def samples_of(watched: Watched, one: Eval) -> list[tuple[SampleKey, str]]:
    """Every fifth of the first samples that started, with their attempt's eval id."""
    key = await watched.key(one)
    return [
        (SampleKey(TaskKey(key, task["task_id"]), row["sample_id"], row["epoch"]), task["eval_id"])
        for task in one.tasks()
        for row in [row for row in one.samples(task["task"])[:6] if row["started_at"]][::5]
    ]


def place(sample: SampleKey) -> tuple[str, str, str]:
    """The command line's words for a sample."""
    return sample.task.task_id, str(sample.sample_id), str(sample.epoch)


@pytest.mark.parametrize("content", [False, True])
async def test_the_insides_of_samples(one: Eval, ctl: Ctl, content: bool) -> None:
    more = ("--content",) if content else ()
    async with watching_eval(one) as watched:
        for sample, eval_id in await samples_of(watched, one):
            read = watched.desk.read
            detail = await reads.read_sample(read, sample, eval_id, content=content)
            shown = ctl.once(one, "sample", "show", *place(sample), *(("--traceback",) * content))
            row = still(msgspec.json.decode(detail.sample.raw), *WORDS)
            assert row == still(shown, "task_id", "task", *WORDS)
            assert detail.limit_reason == shown["limit_reason"]
            same_error(detail.error, shown["error"])
            assert len(detail.error_retries) == len(shown["error_retries"])
            for error, answer in zip(detail.error_retries, shown["error_retries"], strict=True):
                same_error(error, answer)

            page = await reads.read_events(read, sample, eval_id, content=content)
            listed = ctl.once(one, "sample", "events", *place(sample), "--from-start", *more)
            assert (page.next, page.done) == (listed["next"], listed["done"])
            for event, answer in zip(page.events, listed["events"], strict=True):
                same_event(event, answer)

            spoken = await reads.read_messages(read, sample, eval_id, content=content)
            listed = ctl.once(one, "sample", "messages", *place(sample), "--all", *more)
            assert spoken.count == listed["count"]
            for message, answer in zip(spoken.messages, listed["messages"], strict=True):
                same_message(message, answer)

            store = await reads.read_store(read, sample, eval_id, content=content)
            same_store(store, ctl.once(one, "sample", "store", *place(sample), *more))


async def test_knobs_and_throughput(one: Eval, ctl: Ctl) -> None:
    async with watching_eval(one) as watched:
        key = await watched.key(one)
        for task in one.tasks():
            view = await reads.read_task_config(watched.desk.read, TaskKey(key, task["task_id"]))
            same_knobs(view, ctl.once(one, "config", task["task_id"])["knobs"])
        found = await reads.read_throughput(watched.desk.read, key)
        listed = ctl.once(one, "model", "throughput")
        for model, answer in zip(found.models, listed["models"], strict=True):
            assert model.model == answer["model"]
            assert {each.name for each in fields(model)} <= answer.keys()


def same_knobs(view: ConfigView, theirs: Mapping[str, Any]) -> None:
    """Hold knobs against Inspect's."""
    for name in ("max_samples", "max_tasks"):
        same_limit(getattr(view, name), theirs[name])
    for limits, listed in (
        (view.connections, theirs["max_connections"]["adaptive"]),
        (view.keys or (), theirs["concurrency"]["keys"]),
        (view.sandboxes, theirs["max_sandboxes"]["providers"]),
    ):
        for limit, answer in zip(limits, listed, strict=True):
            same_limit(limit, answer)
    for name, value in (*view.retry.items(), *view.limits.items()):
        assert value == theirs[name]["override"]
    assert view.buffer is not None
    buffer = asdict(view.buffer)
    assert buffer["log_buffer"] == theirs["log_buffer"]["value"]
    assert buffer["pending"] == theirs["log_buffer"]["pending"]
    assert buffer["log_shared"] == theirs["log_shared"]["value"]


def same_limit(limit: LimitView | None, theirs: Mapping[str, Any]) -> None:
    """Hold one limit against Inspect's."""
    assert limit is not None
    names = {"min": "minimum", "max": "maximum"}
    for name in theirs.keys() - {"scope", "recent_changes", "type"}:
        assert getattr(limit, names.get(name, name)) == theirs[name], name


async def test_events_followed_live_end_as_the_whole_list(evals: Evals, ctl: Ctl) -> None:
    gate = evals.folder / "gate"
    args = {"samples": 1, "naps": 5, "seconds": 0.3, "think": 0.3, "gate": gate}
    one = evals.start("tools", args=args, keep=True).wait_ready()
    one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] == 1)
    async with watching_eval(one) as watched:
        key = await watched.key(one)
        task = one.task()
        sample, following = SampleKey(TaskKey(key, task["task_id"]), 1, 1), EventFollower()
        await asyncio.to_thread(gate.touch)
        while not following.done:
            following = await reads.follow_events(
                watched.desk.read, sample, task["eval_id"], following
            )
            await asyncio.sleep(0.1)
        listed = await asyncio.to_thread(
            ctl, one, "sample", "events", *place(sample), "--from-start"
        )
    assert [event.uuid for event in following.events] == [
        event["uuid"] for event in listed["events"]
    ]
    for event, answer in zip(following.events, listed["events"], strict=True):
        same_event(event, answer)
    assert not any(event.pending for event in following.events)


@parked_group
async def test_the_equivalent_commands_show_the_same_state(parked_eval: Eval, ctl: Ctl) -> None:
    async with watching_eval(parked_eval) as watched:
        key = await watched.key(parked_eval)
        process = watched.fleet.processes[key]
        sample, _ = (await samples_of(watched, parked_eval))[0]
    expected = {
        cli_commands.task_list(process): ("task", "list"),
        cli_commands.sample_show(process, sample): ("sample", "show", *place(sample)),
    }
    for command, found in expected.items():
        where, *line = shlex.split(command)
        assert where == f"XDG_DATA_HOME={parked_eval.data_dir}"
        assert line[1:4] == ["-m", "inspect_ai", "ctl"]
        answer = ctl(parked_eval, *line[4:])
        assert still(answer, *RATES) == still(ctl.once(parked_eval, *found), *RATES)
