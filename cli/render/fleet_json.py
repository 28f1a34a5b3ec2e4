"""The fleet as the JSON of the headless commands.

Rows are Inspect's own, with its field names and values unchanged. evalroom's fields are added and
never replace one of Inspect's.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from core.fleet import Fleet
from core.model.log_summary import ErrorGroup, Metric
from core.model.machine import Machine
from core.model.process import Process
from core.model.task import Task, TaskState

Json = dict[str, Any]


def status_answer(fleet: Fleet, now: float) -> Json:
    """Return the whole fleet as `{as_of, machines, processes, tasks}`.

    Args:
        fleet: The fleet.
        now: Unix seconds at the desk.
    """
    return {
        "as_of": now,
        "machines": [machine_row(each, now) for each in fleet.machines.values()],
        "processes": [process_row(fleet, each, now) for each in fleet.processes.values()],
        "tasks": [task_row(fleet, each, now) for each in fleet.tasks.values()],
    }


def machine_row(machine: Machine, now: float) -> Json:
    """Return a machine: its link, its probe and its facts."""
    heard_at = machine.link.heard_at
    return {
        "name": machine.name,
        "state": str(machine.link.state),
        "reason": machine.link.reason,
        "advice": machine.link.advice,
        "address": machine.address,
        "link": machine.kind,
        "tags": list(machine.tags),
        "read_only": machine.read_only,
        "production": machine.production,
        "age_seconds": None if heard_at is None else max(0.0, now - heard_at),
        "probe": plain_json(machine.probe),
        "facts": plain_json(machine.facts),
        "left_out": plain_json(machine.left_out),
    }


def process_row(fleet: Fleet, process: Process, now: float) -> Json:
    """Return a process in the form of `inspect ctl process list`, with evalroom's fields added."""
    tasks = [task for key, task in fleet.tasks.items() if key.process == process.key]
    heard_at = max((task.heard_at for task in tasks), default=process.since)
    return {
        "machine": process.key.machine,
        "pid": process.key.pid,
        "socket_path": process.socket_path,
        "started_at": process.started_at,
        "ended_at": process.ended_at,
        "ended_after": process.ended_after,
        "keep_alive": process.keep_alive,
        "paused": process.paused,
        "paused_now": process.paused_now,
        "state": str(process.state),
        "run_id": process.run_id,
        "api_version": process.api_version,
        "argv": list(process.argv),
        "cwd": process.cwd,
        "can_signal": process.can_signal,
        "signal_reason": process.signal_refusal,
        "container": plain_json(process.container),
        "slow_polls": [plain_json(each) for each in process.slow_polls],
        "age_seconds": max(0.0, now - heard_at),
        "tasks": [
            {"task_id": each.row.task_id, "task": each.row.task, "status": each.row.status}
            for each in tasks
        ],
    }


def task_row(fleet: Fleet, task: Task, now: float) -> Json:
    """Return a task's row from Inspect, with machine, pid, state, log status and age added."""
    process = fleet.processes.get(task.key.process)
    ours: Json = {
        "machine": task.key.machine,
        "pid": task.key.process.pid,
        "socket_path": process.socket_path if process else None,
        "state": str(task.state),
        "scores": [metric_row(each) for each in _metrics(task)],
        "errors": _error_rows(task.errors),
        "log": log_row(task),
        "age_seconds": max(0.0, now - task.heard_at),
    }
    row = raw_row(task.row.raw) or plain_json(task.row, without=("raw",))
    return {**row, **ours}


def log_row(task: Task) -> Json | None:
    """Return the content of an ended task's log; None: the task has not ended.

    `samples` is null until they were read: then the row's own counts are those of the last poll.
    """
    if task.state is TaskState.RUNNING:
        return None
    header, logged = task.header, task.logged
    return {
        "status": header.status if header is not None else None,
        "problem": task.log_problem or task.samples_error or None,
        "cause": header.cause or None if header is not None else None,
        "samples": plain_json(logged.counts) if logged is not None else None,
        "total_tokens": header.total_tokens if header is not None else None,
        "errors": _error_rows(logged.errors if logged is not None else ()),
    }


def _error_rows(groups: tuple[ErrorGroup, ...]) -> list[Json]:
    return [
        {
            "cause": group.cause,
            "count": group.count,
            "sample_id": group.example[0],
            "epoch": group.example[1],
        }
        for group in groups
    ]


def _metrics(task: Task) -> tuple[Metric, ...]:
    return task.header.metrics if task.header else task.interim


def metric_row(metric: Metric) -> Json:
    """Return one number of a score."""
    return {
        "scorer": metric.scorer,
        "name": metric.name,
        "value": metric.value,
        "stderr": metric.stderr,
    }


def raw_row(raw: bytes) -> Json:
    """Return a row as Inspect sent it; empty if it is missing or not an object."""
    value = decoded(raw)
    return cast("Json", value) if isinstance(value, dict) else {}


def decoded(raw: bytes) -> object:
    """Return the value of a JSON answer; None if it is not JSON."""
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value


def plain_json(value: object, without: tuple[str, ...] = ()) -> Any:
    """Return one of evalroom's own values as plain JSON values."""
    plain: Any = msgspec.to_builtins(value, enc_hook=_plain)
    for name in without:
        plain.pop(name, None)
    return plain


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        return {str(key): each for key, each in items.items()}
    return str(value)
