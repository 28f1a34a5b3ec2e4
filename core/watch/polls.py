"""What the probe should poll now: a pure function of the fleet and the focus."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.config.model import WatchConfig
from core.ctl import routes
from core.ctl.error_causes import MAX_CAUSE_ROWS
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.process import Process, ProcessState
from core.model.sample import SampleStatus
from core.model.task import Task
from core.watch.cadence import cadence_of, has_retried

MAX_ROWS = 500
"""Maximum sample rows of one answer; the rest are only counted."""
MAX_POLLED_TASKS = 1_000
"""Tasks of a machine whose samples are polled, running ones first; of others only the rows are."""
MAX_COMPARED = 150
"""Up to this many running and queued samples, every answer lists all of them."""
ERRORS_INTERVAL_S = 30.0
"""Seconds between two polls of errored samples that other answers left out."""
CAUSES_INTERVAL_S = 15.0
"""Minimum seconds between two reads of why samples of a task errored."""
CAUSES_RETRY_S = 120.0
"""Seconds until a read of causes that failed is made again; its answer ends the poll."""
SCORE_INTERVAL_S = 60.0
"""Seconds between two polls of a running score."""
FULL_READ_INTERVAL_S = 120.0
"""Seconds until a running task's samples are read in full again.

A delta misses what changes without an event of its own, such as a sample that was cancelled before
its start.
"""
RETRIES_WATCHED_S = 60.0
"""For so long after a retry the running samples are read in full too, seconds: a delta leaves out a
sample whose only change is that it waits for its next try."""
ENDED_INTERVAL_S = 5.0
"""Seconds between two polls of the task list of a process that has an ended task."""
PARKED_INTERVAL_S = 30.0
"""Seconds between two polls of the task list of a process whose tasks are all over."""
PAUSED_INTERVAL_S = 60.0
"""Seconds between two polls of the samples of a paused task with nothing in flight."""
ONCE_S = 86_400.0
"""Seconds between two polls of data that no longer changes: a day."""

MAX_NAME_LENGTH = 500
"""Maximum characters of a task or eval id, because it is part of a frame's head."""

TASKS_POLL = "tasks"
"""The name of the poll of a process's task list."""
PollKind = Literal["tasks", "samples", "running", "errors", "causes", "score"]
DELTA_API_VERSION = 5
"""API version from which a delta has the counts of the whole task (Inspect 0.3.250)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One path of a process's control channel that the probe polls.

    Attributes:
        kind: The kind of answer.
        process: The process whose control channel is polled.
        name: Unique in the process; with a new name the probe forgets the last answer.
        path: The path to read.
        every: Seconds between two reads.
        task: The task that the answer is about; None for the task list.
        eval_id: The attempt that the answer is about; empty for the task list.
    """

    kind: PollKind
    process: ProcessKey
    name: str
    path: str
    every: float
    task: TaskKey | None = None
    eval_id: str = ""


def polls_for(
    fleet: Fleet,
    processes: Iterable[ProcessKey],
    *,
    focus: TaskKey | None,
    now: float,
    config: WatchConfig,
    reloads: Mapping[TaskKey, int],
) -> Iterator[Poll]:
    """Yield the polls that the probe should make now.

    Args:
        fleet: All that is known.
        processes: The processes that the probe reports.
        focus: The task that the operator looks at; None: no task.
        now: Unix seconds at the desk.
        config: The cadences.
        reloads: How many times each task's samples had to be read in full again.
    """
    polled = list[_PolledTask]()
    for key in processes:
        process = fleet.processes.get(key)
        if process is None or not _can_answer(process):
            continue
        every = PARKED_INTERVAL_S if process.tasks else config.cadences["spin-up"].tasks
        deltas = (process.api_version or 0) >= DELTA_API_VERSION
        for task_key in process.tasks:
            task, focused = fleet.tasks[task_key], task_key == focus
            ended = task.row.is_completed
            if ended and task.logged is not None:
                continue  # its log, not its process, has its samples now
            cadence = cadence_of(task, now, focused=focused, cadences=config.cadences)
            every = min(every, ENDED_INTERVAL_S if ended else cadence.tasks)
            if all(
                0 < len(name) <= MAX_NAME_LENGTH for name in (task.row.eval_id, task_key.task_id)
            ):
                is_paused = task.row.quiesced and not focused
                pause = max(cadence.samples, PAUSED_INTERVAL_S) if is_paused else cadence.samples
                waits = deltas and waits_for_retries(task, now)
                polled.append(
                    _PolledTask(
                        task,
                        pause,
                        ended=ended,
                        focused=focused,
                        deltas=deltas,
                        waits=waits,
                        lacks_causes=deltas and lacks_causes(task, now),
                    )
                )
        yield Poll(kind="tasks", process=key, name=TASKS_POLL, path=routes.TASKS, every=every)
    if len(polled) > MAX_POLLED_TASKS:
        polled.sort(key=lambda each: (not each.focused, each.ended))
    for each in polled[:MAX_POLLED_TASKS]:
        yield from _of_task(each, reloads.get(each.task.key, 0))


def sampled_task(name: str) -> str | None:
    """Return the id of the task whose samples the poll of that name reads; None: another poll."""
    kind, _, place = name.partition("/")
    return place.partition("/")[0] or None if kind in {"s", "r"} else None


@dataclass(frozen=True, slots=True)
class _PolledTask:
    """A task whose samples are polled every `every` seconds."""

    task: Task
    every: float
    ended: bool
    focused: bool
    deltas: bool
    waits: bool
    lacks_causes: bool


def waits_for_retries(task: Task, now: float) -> bool:
    """Return whether samples of a task wait for retries, or may do so: calls were just retried."""
    is_known = bool(task.waits) and task.waits[-1].waiting > 0
    return is_known or has_retried(task, now, RETRIES_WATCHED_S)


def lacks_causes(task: Task, now: float) -> bool:
    """Return whether samples errored since their causes were read, and a new read may be made.

    The texts of such a read are the only ones that evalroom asks for by itself. It keeps none of
    them (`core.ctl.error_causes`).
    """
    causes, errored = task.causes, task.row.samples.errored
    is_of_attempt = causes.eval_id == task.row.eval_id
    if causes.heard_at is not None and is_of_attempt:
        is_soon = 0 <= now - causes.heard_at < CAUSES_INTERVAL_S
        return errored != causes.errored and not is_soon
    return errored > 0


def causes_since(task: Task) -> float | None:
    """Return the time from which the causes of errors are not read, on the eval's clock."""
    return task.causes.as_of if task.causes.eval_id == task.row.eval_id else None


def _can_answer(process: Process) -> bool:
    return process.socket_path is not None and process.state not in {
        ProcessState.GONE,
        ProcessState.OPTED_OUT,
    }


def _of_task(polled: _PolledTask, reload: int) -> Iterator[Poll]:
    task, ended, focused, every = polled.task, polled.ended, polled.focused, polled.every
    eval_id, key = task.row.eval_id, task.key
    # A task that ends gets new poll names, so its samples are read in full one last time.
    generation = f"{reload}{'e' if ended else ''}"
    place = f"{key.task_id}/{eval_id}"
    yield Poll(
        kind="samples",
        process=key.process,
        name=f"s/{place}/{generation}",
        path=_samples_path(eval_id, is_delta=polled.deltas and not ended),
        every=ONCE_S if ended else every,
        task=key,
        eval_id=eval_id,
    )
    if (focused or polled.waits) and not ended:
        yield Poll(
            kind="running",
            process=key.process,
            name=f"r/{place}",
            path=routes.samples(eval_id, status=("running", "queued"), limit=MAX_ROWS),
            every=every if polled.waits else 2 * every,
            task=key,
            eval_id=eval_id,
        )
    if _lacks_errors(task):
        yield Poll(
            kind="errors",
            process=key.process,
            name=f"e/{place}/{generation}",
            path=routes.samples(eval_id, status=("error",), limit=MAX_ROWS),
            every=ONCE_S if ended else ERRORS_INTERVAL_S,
            task=key,
            eval_id=eval_id,
        )
    if polled.lacks_causes and not ended:
        yield Poll(
            kind="causes",
            process=key.process,
            name=f"c/{place}",
            path=_causes_path(eval_id, causes_since(task)),
            every=CAUSES_RETRY_S,
            task=key,
            eval_id=eval_id,
        )
    yield Poll(
        kind="score",
        process=key.process,
        name=f"p/{place}/{'e' if ended else ''}",
        path=_score_path(key.task_id),
        every=ONCE_S if ended else SCORE_INTERVAL_S,
        task=key,
        eval_id=eval_id,
    )


@lru_cache(maxsize=20_000)
def _samples_path(eval_id: str, *, is_delta: bool) -> str:
    since = routes.AS_OF if is_delta else None
    return routes.samples(eval_id, active_since=since, limit=MAX_ROWS)


def _causes_path(eval_id: str, since: float | None) -> str:
    return routes.samples(
        eval_id, active_since=since, status=("error",), limit=MAX_CAUSE_ROWS, content=True
    )


@lru_cache(maxsize=20_000)
def _score_path(task_id: str) -> str:
    return routes.task_score(task_id)


def _lacks_errors(task: Task) -> bool:
    if task.counts is None or not task.samples_cut or not task.counts.error:
        return False
    known = sum(row.status == SampleStatus.ERROR for row in task.samples.values())
    return known < min(task.counts.error, MAX_ROWS)


def disagrees(task: Task) -> bool:
    """Return whether the task's counts and its known rows contradict each other.

    Only running and queued samples are compared: answers list them first, and all are kept.
    """
    if task.counts is None or task.counts.running + task.counts.queued > MAX_COMPARED:
        return False
    running = sum(row.status == SampleStatus.RUNNING for row in task.samples.values())
    queued = sum(row.status == SampleStatus.QUEUED for row in task.samples.values())
    return running != task.counts.running or queued != task.counts.queued
