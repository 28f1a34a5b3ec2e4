"""Our reads say what `inspect ctl ... --json` says, on processes where nothing moves."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from core.ctl import routes
from tests.support.ctl import Ctl
from tests.support.desk_on_evals import Read, Reader
from tests.support.evals import Eval
from tests.support.rows import RATES, still
from tests.support.shared_evals import parked_group, paused_group

BOTH = [
    pytest.param("parked_eval", marks=parked_group),
    pytest.param("paused_eval", marks=paused_group),
]


@pytest.fixture(params=BOTH)
def one(request: pytest.FixtureRequest) -> Eval:
    """An eval where nothing moves."""
    found: Eval = request.getfixturevalue(request.param)
    return found


def some_samples(one: Eval) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """One started sample of each task: (task row, sample row)."""
    for task in one.tasks():
        yield task, next(row for row in one.samples(task["task"]) if row["started_at"])


async def test_the_task_list(one: Eval, ctl: Ctl, reader: Reader) -> None:
    read = await reader(one)
    ours = await read(routes.TASKS)
    theirs = ctl.once(one, "task", "list")["tasks"]
    assert ours
    assert still(ours) == still(theirs, "pid", "socket_path")


@pytest.mark.parametrize("how", ["cut", "all", "few", "some statuses"])
async def test_a_sample_list_whole_and_cut(one: Eval, ctl: Ctl, reader: Reader, how: str) -> None:
    read = await reader(one)
    cut = False
    for task in one.tasks():
        path, words = {
            "cut": (routes.samples(task["eval_id"]), ()),
            "all": (routes.samples(task["eval_id"], all_rows=True), ("--all",)),
            "few": (routes.samples(task["eval_id"], limit=3), ("--limit", "3")),
            "some statuses": (
                routes.samples(task["eval_id"], status=("error", "pending"), limit=50),
                ("--status", "error,pending", "--limit", "50"),
            ),
        }[how]
        ours = await read(path)
        theirs = ctl.once(one, "sample", "list", task["task_id"], *words)
        assert still(ours) == still(theirs, "task_id", "task"), task["task"]
        assert sum(ours["counts"].values()) == task["samples"]["total"]
        cut = cut or ours["truncated"]
    assert cut == (how == "few" or (how == "cut" and one.task("many") != {}))


async def test_a_sample_list_since_a_moment(one: Eval, ctl: Ctl, reader: Reader) -> None:
    read = await reader(one)
    for task in one.tasks():
        rows = one.samples(task["task"])
        moments = sorted(row["last_activity_at"] for row in rows if row["last_activity_at"])
        since = moments[len(moments) // 2]
        path = routes.samples(task["eval_id"], active_since=since, limit=500)
        ours = await read(path)
        words = ("--active-since", repr(since), "--limit", "500")
        theirs = ctl.once(one, "sample", "list", task["task_id"], *words)
        assert 0 < len(ours["samples"]) < len(rows)
        assert still(ours) == still(theirs, "task_id", "task"), task["task"]


async def test_the_errors(one: Eval, ctl: Ctl, reader: Reader) -> None:
    read = await reader(one)
    found = 0
    for task, content in itertools.product(one.tasks(), (False, True)):
        path = routes.samples(
            task["eval_id"], errors=True, all_rows=True, content=True if content else None
        )
        ours = await read(path)
        words = ("--content",) if content else ()
        theirs = ctl.once(one, "sample", "errors", task["task_id"], *words)
        assert still(ours) == still(theirs, "task_id", "task"), task["task"]
        found += len(ours["samples"])
    assert (found > 0) == (one.task("errors") != {})


@pytest.mark.parametrize("types", [None, "all"])
async def test_events_paged_to_the_end(
    one: Eval, ctl: Ctl, reader: Reader, types: str | None
) -> None:
    read = await reader(one)
    for task, row in some_samples(one):
        ours = await _pages(read, task, row, types, limit=3)
        chosen = ("--type", types) if types else ()
        theirs: list[Any] = []
        cursor: str | None = None
        while True:
            words = ("--cursor", cursor) if cursor else ("--from-start",)
            page = ctl.once(
                one, "sample", "events", *_place(task, row), *words, "--limit", "200", *chosen
            )
            theirs += page["events"]
            if page["next"] == cursor or page["done"]:
                break
            cursor = page["next"]
        assert ours == theirs
        assert ours
        tail = await read(routes.events(task["eval_id"], *_id(row), tail=20, types=types))
        answer = ctl.once(one, "sample", "events", *_place(task, row), *chosen)
        assert (tail["events"], tail["next"], tail["done"]) == (
            answer["events"],
            answer["next"],
            answer["done"],
        )


async def _pages(
    read: Read, task: dict[str, Any], row: dict[str, Any], types: str | None, limit: int
) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    while True:
        path = routes.events(task["eval_id"], *_id(row), since=cursor, types=types, limit=limit)
        page = await read(path)
        found += page["events"]
        if page["next"] == cursor or page["done"]:
            return found
        cursor = page["next"]


async def test_the_newest_messages_and_some_keys_of_the_store(
    one: Eval, ctl: Ctl, reader: Reader
) -> None:
    read = await reader(one)
    for task, row in some_samples(one):
        ours = await read(routes.messages(task["eval_id"], *_id(row), tail=1))
        theirs = ctl.once(one, "sample", "messages", *_place(task, row), "--tail", "1")
        assert still(ours) == still(theirs, "task_id", "sample_id", "epoch")
        assert ours["count"] > len(ours["messages"])
        ours = await read(routes.store(task["eval_id"], *_id(row), keys=("tu*", "no such")))
        keys = ("--key", "tu*", "--key", "no such")
        theirs = ctl.once(one, "sample", "store", *_place(task, row), *keys)
        assert still(ours) == still(theirs, "task_id", "sample_id", "epoch")
        assert ours["missing"]


async def test_knobs_of_a_task_and_of_the_process(one: Eval, ctl: Ctl, reader: Reader) -> None:
    read = await reader(one)
    for task in one.tasks():
        ours = await read(routes.task_config(task["task_id"]))
        theirs = ctl.once(one, "config", task["task_id"])["knobs"]
        assert _knobs(ours) == theirs
    if len(one.tasks()) > 1:
        ours = await read(routes.PROCESS_CONFIG)
        theirs = ctl.once(one, "config", "--max-connections", "1", "--dry-run")
        assert {name: _knobs(ours).get(name) for name in theirs["knobs"]} == theirs["knobs"]


def _knobs(view: dict[str, Any]) -> dict[str, Any]:
    """Lay a config view out as the command line does."""
    knobs: dict[str, Any] = {
        "max_tasks": view["max_tasks"],
        "max_sandboxes": {"providers": view["max_sandboxes"]},
        "max_subprocesses": view["max_subprocesses"] or {},
        "max_connections": {"adaptive": view["adaptive"]},
        "concurrency": {"keys": view["concurrency"]},
        **{name: {"override": value} for name, value in view["retry"].items()},
    }
    task: dict[str, Any] = {}
    if "buffer" in view:
        buffer = view["buffer"]
        task = {
            "max_samples": view["max_samples"],
            "log_buffer": {"value": buffer["log_buffer"], "pending": buffer["pending"]},
            "log_shared": {"value": buffer["log_shared"]},
            **{name: {"override": value} for name, value in view["limits"].items()},
        }
    return {
        **{name: {"scope": "process", **value} for name, value in knobs.items()},
        **{name: {"scope": "task", **value} for name, value in task.items()},
    }


async def test_the_throughput_of_the_models(one: Eval, ctl: Ctl, reader: Reader) -> None:
    read = await reader(one)
    ours = await read(routes.throughput(120))
    theirs = ctl.once(one, "model", "throughput", "--window", "120")
    assert still(ours, *RATES) == still(theirs, *RATES)
    assert ours["models"]
    assert all(model["cumulative"]["requests"] > 0 for model in ours["models"])


def _id(row: dict[str, Any]) -> tuple[str | int, int]:
    return row["sample_id"], row["epoch"]


def _place(task: dict[str, Any], row: dict[str, Any]) -> tuple[str, str, str]:
    return task["task_id"], str(row["sample_id"]), str(row["epoch"])
