"""What the probe should look at now: a pure function of the fleet and the focus."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core.config.model import WatchConfig
from core.ctl import routes
from core.fleet import Fleet
from core.ids import ProcessKey, TaskKey
from core.model.process import Process, ProcessState
from core.model.sample import SampleStatus
from core.model.task import Task
from core.watch.cadence import cadence_of

LIMIT = 500
"""Most sample rows of one look; what is cut is counted."""
SURE = 150
"""Samples under way up to which no list cuts one of them away."""
ERRORS_EVERY = 30.0
"""Seconds between looks at errored rows that the list cut away."""
SCORE_EVERY = 60.0
"""Seconds between looks at a running score."""
WHOLE_EVERY = 120.0
"""Seconds until a running task's list is read whole again: a delta misses what changes without
an event of its own (a retry wait that began, a sample cancelled before its start)."""
IDLE_EVERY = 5.0
"""Seconds between looks at the task list of a process that has no task to judge by."""
PARKED_EVERY = 30.0
"""Seconds between looks at a process whose tasks are all over."""
PAUSED_EVERY = 60.0
"""Seconds between looks at the samples of a task that is paused with nothing in flight."""
ONCE = 86_400.0
"""Seconds between looks at what does not change any more."""

NAME_LIMIT = 500
"""Longest task or eval id that is asked about, characters: they go into the head of a frame."""

AimKind = Literal["tasks", "samples", "running", "errors", "score"]
DELTAS = 5
"""API version from which a delta names the counts of the whole task (Inspect 0.3.250)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One thing to look at.

    Attributes:
        name: Tells it from the process's other looks; another name is another look.
        every: Seconds between two looks.
        task: Whose rows come, None for the task list.
        eval_id: The attempt that is looked at.
    """

    kind: AimKind
    process: ProcessKey
    name: str
    path: str
    every: float
    task: TaskKey | None = None
    eval_id: str = ""


def aims(
    fleet: Fleet,
    processes: Iterable[ProcessKey],
    *,
    focus: TaskKey | None,
    now: float,
    config: WatchConfig,
    reloads: Mapping[TaskKey, int],
) -> Iterator[Poll]:
    """Yield what to look at.

    Args:
        fleet: As known.
        processes: Those that the probe tells of.
        focus: The task that the operator looks at.
        now: Unix seconds at the desk.
        config: The cadences.
        reloads: How often each task's list was to be read whole again.
    """
    for key in processes:
        process = fleet.processes.get(key)
        if process is None or not _can_answer(process):
            continue
        every = PARKED_EVERY if process.tasks else config.cadences["spin-up"].tasks
        for task_key in process.tasks:
            task, focused = fleet.tasks[task_key], task_key == focus
            cadence = cadence_of(task, now, focused=focused, cadences=config.cadences)
            ended = task.row.is_completed
            every = min(every, IDLE_EVERY if ended else cadence.tasks)
            if all(0 < len(name) <= NAME_LIMIT for name in (task.row.eval_id, task_key.task_id)):
                resting = task.row.quiesced and not focused
                yield from _of_task(
                    task,
                    max(cadence.samples, PAUSED_EVERY) if resting else cadence.samples,
                    ended=ended,
                    reload=reloads.get(task_key, 0),
                    focused=focused,
                    deltas=(process.api_version or 0) >= DELTAS,
                )
        yield Poll(kind="tasks", process=key, name="tasks", path=routes.TASKS, every=every)


def _can_answer(process: Process) -> bool:
    return process.socket_path is not None and process.state not in {
        ProcessState.GONE,
        ProcessState.OPTED_OUT,
    }


def _of_task(
    task: Task, every: float, *, ended: bool, reload: int, focused: bool, deltas: bool
) -> Iterator[Poll]:
    eval_id, key = task.row.eval_id, task.key
    # The end of a task is a new name: its list is read once more, whole, and then left alone.
    generation = f"{reload}{'e' if ended else ''}"
    place = f"{key.task_id}/{eval_id}"
    yield Poll(
        kind="samples",
        process=key.process,
        name=f"s/{place}/{generation}",
        path=routes.samples(
            eval_id, active_since=routes.AS_OF if deltas and not ended else None, limit=LIMIT
        ),
        every=ONCE if ended else every,
        task=key,
        eval_id=eval_id,
    )
    if focused and not ended:
        yield Poll(
            kind="running",
            process=key.process,
            name=f"r/{place}",
            path=routes.samples(eval_id, status=("running", "queued"), limit=LIMIT),
            every=2 * every,
            task=key,
            eval_id=eval_id,
        )
    if _lacks_errors(task):
        yield Poll(
            kind="errors",
            process=key.process,
            name=f"e/{place}/{generation}",
            path=routes.samples(eval_id, status=("error",), limit=LIMIT),
            every=ONCE if ended else ERRORS_EVERY,
            task=key,
            eval_id=eval_id,
        )
    yield Poll(
        kind="score",
        process=key.process,
        name=f"p/{place}/{'e' if ended else ''}",
        path=routes.task_score(key.task_id),
        every=ONCE if ended else SCORE_EVERY,
        task=key,
        eval_id=eval_id,
    )


def _lacks_errors(task: Task) -> bool:
    if task.counts is None or not task.samples_cut or not task.counts.error:
        return False
    known = sum(row.status == SampleStatus.ERROR for row in task.samples.values())
    return known < min(task.counts.error, LIMIT)


def disagrees(task: Task) -> bool:
    """Whether the counts of the last look and the rows that are known can't both be right.

    Only samples under way count: lists name them first, and all of them are kept.
    """
    if task.counts is None or task.counts.running + task.counts.queued > SURE:
        return False
    running = sum(row.status == SampleStatus.RUNNING for row in task.samples.values())
    queued = sum(row.status == SampleStatus.QUEUED for row in task.samples.values())
    return running != task.counts.running or queued != task.counts.queued
