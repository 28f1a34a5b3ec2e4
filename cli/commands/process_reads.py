"""Reads samples from a process's control channel, for the headless commands."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from cli.commands.desk_protocols import DeskReader
from cli.commands.first_poll import first_poll
from cli.commands.silence import found_target
from cli.render.fleet_json import Json
from core.ctl import routes
from core.ctl.answer_errors import good_body
from core.ctl.decode import as_number, parse_object
from core.errors import AnswerMalformed, NoMachineReached, NotThere, TargetUnclear
from core.events import Event, OperationsSeen
from core.fold.operations import has_begun_with
from core.ids import ProcessKey
from core.model.feature import Feature
from core.model.operation import Operation, operation_words
from core.model.process import Process
from core.model.sample import SampleId, SampleStatus
from core.model.task import Task, TaskState
from core.target_escapes import escaped, readings
from core.task_targets import find_task, several, task_name
from core.text import shown

TRACE_WAIT_S = 2.0
"""The longest wait for the trace of an eval, seconds."""
PAGES = 2_000
"""The most pages of events that are read."""

_CONTENT = frozenset(
    {
        "answer",
        "arguments",
        "completion",
        "content",
        "data",
        "explanation",
        "input",
        "limit_reason",
        "metadata",
        "result",
        "target",
        "traceback",
        "traceback_ansi",
    }
)
_MAYBE_CONTENT = frozenset(("error", "error_retries"))


async def find(desk: DeskReader, target: str, timeout: float) -> Task:
    """Poll everything once, then return the task that `target` names.

    Raises:
        NoMachineReached: No machine answered, or the one that the target may be on did not.
        TargetUnclear: The target matches no task, or several.
    """
    until = asyncio.get_running_loop().time() + timeout
    polled = await first_poll(desk, timeout)
    if not desk.fleet.tasks and not any(each.is_reached for each in desk.fleet.machines.values()):
        raise NoMachineReached("no machine could be reached", "find out why: evalroom machines")

    async def named() -> Task:
        return desk.fleet.tasks[find_task(desk.fleet, target)]

    return await found_target(desk, named, polled=polled, until=until)


async def samples_of(desk: DeskReader, task: Task, *, status: str | None, all_rows: bool) -> Json:
    """Return the process's answer about a task's samples; adds machine and age to each row.

    Raises:
        RequestFailed: The process did not answer well.
        AnswerMalformed: Its answer is not as expected.
    """
    path = routes.samples(
        task.row.eval_id,
        status=(status,) if status else (),
        all_rows=True if all_rows else None,
    )
    answer = await _read(desk, task, path, "the samples", "samples")
    ours = {"machine": task.key.machine, "age_seconds": answer["age_seconds"]}
    named = {"task_id": task.row.task_id, "task": task.row.task}
    rows = [{**named, **withheld(row), **ours} for row in _rows(answer, "samples")]
    return {**answer, "samples": await with_operations(desk, task, rows)}


async def with_operations(desk: DeskReader, task: Task, rows: list[Json]) -> list[Json]:
    """Return sample rows with what they do by the eval's trace, as `operation`.

    Only a running sample of which the eval reports no activity gets one. This waits a moment for
    the trace to be read.
    """
    silent = [each for each in rows if _is_silent(each)]
    if not silent or task.state is not TaskState.RUNNING:
        return rows
    process = await traced(desk, task.key.process)
    names = [desk.fleet.tasks[key].row.task for key in process.tasks] if process else []
    if process is None or not process.operations or names.count(task.row.task) > 1:
        return rows
    known = {each.sample: each for each in process.operations if each.task == task.row.task}
    return [{**row, "operation": _operation(row, known)} for row in rows]


def _is_silent(row: Json) -> bool:
    return row.get("status") == SampleStatus.RUNNING and row.get("activity") is None


async def traced(desk: DeskReader, key: ProcessKey) -> Process | None:
    """Return a process once its trace was read; after `TRACE_WAIT_S`, as it is known by then."""
    read = asyncio.Event()

    def hear(event: Event) -> None:
        if isinstance(event, OperationsSeen) and event.process == key:
            read.set()

    stop = desk.listen(hear)
    try:
        process = desk.fleet.processes.get(key)
        if process is not None and process.operations is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(read.wait(), TRACE_WAIT_S)
    finally:
        stop()
    return desk.fleet.processes.get(key)


def _operation(row: Json, known: Mapping[SampleId | None, Operation]) -> Json | None:
    sample_id, epoch = row.get("sample_id"), row.get("epoch")
    if not isinstance(sample_id, str | int) or not isinstance(epoch, int) or not _is_silent(row):
        return None
    found = known.get((sample_id, epoch))
    if found is None or not has_begun_with(found, as_number(row.get("started_at"))):
        return None
    return {
        "action": found.action,
        "what": operation_words(found),
        "started_at": found.since,
        "count": found.count,
    }


async def sample_id_of(desk: DeskReader, task: Task, word: str) -> str:
    """Return the sample id that a typed word means: itself, or with its escapes resolved.

    Raises:
        TargetUnclear: The task has samples with both ids.
        RequestFailed, AnswerMalformed: The samples can't be listed, and the two differ.
    """
    meant = readings(word)
    if len(meant) == 1:
        return word
    answer = await samples_of(desk, task, status=None, all_rows=True)
    listed = {str(row.get("sample_id")) for row in answer["samples"]}
    found = [each for each in meant if each in listed]
    if len(found) > 1:
        raise several(word, [escaped(each) for each in found])
    return found[0] if found else word


async def sample_of(
    desk: DeskReader, task: Task, sample_id: str, epoch: int | None, *, part: str, content: bool
) -> Json:
    """Return one sample's detail, events, messages or store, in the form of Inspect's own CLI.

    Text that the model wrote is left out unless `content` is true.

    Raises:
        TargetUnclear: The task has several epochs, and none was given.
        RequestFailed: The process did not answer well.
        AnswerMalformed: Its answer is not as expected.
    """
    if epoch is None and (task.row.epochs or 1) > 1:
        raise TargetUnclear(
            f"{shown(task.row.task)} has {task.row.epochs} epochs",
            "add the epoch: evalroom sample TASK ID EPOCH",
        )
    epoch = epoch or 1
    eval_id, asked = task.row.eval_id, True if content else None
    what = f"sample {shown(sample_id)}/{epoch}"
    match part:
        case "events":
            answer = await _events(desk, task, sample_id, epoch, content=content)
        case "messages":
            path = routes.messages(eval_id, sample_id, epoch, content=asked)
            answer = await _read(desk, task, path, f"the messages of {what}", "messages")
        case "store":
            path = routes.store(eval_id, sample_id, epoch, content=asked)
            answer = await _read(desk, task, path, f"the store of {what}", "store")
        case _:
            path = routes.sample(eval_id, sample_id, epoch, content=asked)
            answer = await _read(desk, task, path, what, "sample")
    named: Json = {"task_id": task.row.task_id, "task": task.row.task}
    named |= {"sample_id": sample_id, "epoch": epoch}
    told = {**named, **(answer if content else withheld(answer)), "machine": task.key.machine}
    return (await with_operations(desk, task, [told]))[0] if part == "show" else told


async def _events(
    desk: DeskReader, task: Task, sample_id: str, epoch: int, *, content: bool
) -> Json:
    events: list[Any] = []
    answer: Json = {}
    since: str | None = None
    for _ in range(PAGES):
        path = routes.events(
            task.row.eval_id, sample_id, epoch, since=since, content=True if content else None
        )
        what = f"the events of sample {shown(sample_id)}/{epoch}"
        answer = await _read(desk, task, path, what, "events")
        events += _rows(answer, "events")
        following = answer.get("next")
        if answer.get("done") or not isinstance(following, str) or following == since:
            break
        since = following
    return {**answer, "events": events}


def _rows(answer: Json, name: str) -> list[Json]:
    rows = answer.get(name)
    if not isinstance(rows, list):
        raise AnswerMalformed(f"the eval's answer has no list of {name}")
    return [cast("Json", row) for row in cast("list[object]", rows) if isinstance(row, dict)]


async def _read(desk: DeskReader, task: Task, path: str, what: str, feature: Feature) -> Json:
    reply = await desk.read(task.key.process, path)
    process = desk.fleet.processes.get(task.key.process)
    try:
        body = good_body(reply, what, feature, process.python if process is not None else None)
    except NotThere as error:
        target = task_name(desk.fleet, task.key)
        raise NotThere(
            error.message, f"see: evalroom samples {target} --all", status=error.status
        ) from error
    return {**parse_object(body), "age_seconds": max(0.0, reply.took)}


def withheld(answer: Json) -> Json:
    """Return an answer without text that the model wrote.

    A current Inspect leaves such text out itself; an old one always sends it.
    """
    return {
        name: _shown_of(name, value)
        for name, value in answer.items()
        if name not in _CONTENT or not value
    }


def _shown_of(name: str, value: Any) -> Any:
    if name in _MAYBE_CONTENT:
        return _presence(value)
    if name == "scores":  # only names and numbers of the eval
        return value
    if name == "store" and isinstance(value, dict):
        entries = cast("Json", value)
        return {key: _without_value(entry) for key, entry in entries.items()}
    if isinstance(value, dict):
        return withheld(cast("Json", value))
    if isinstance(value, list):
        return [_shown_of("", each) for each in cast("list[object]", value)]
    return value


def _without_value(entry: object) -> object:
    if not isinstance(entry, dict):
        return {}
    return {name: each for name, each in cast("Json", entry).items() if name != "value"}


def _presence(error: object) -> object:
    """Return whether there is an error, without its text."""
    if isinstance(error, list):
        return [_presence(each) for each in cast("list[object]", error)]
    return {} if error else error
