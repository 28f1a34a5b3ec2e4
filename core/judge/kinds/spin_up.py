"""Spin-up: a task has run for long, and none of its samples is done; and what it waits for.

The tasks of one process are one finding: they wait for the same things.
"""

from collections import Counter
from dataclasses import dataclass

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import count, plural
from core.ids import ProcessKey
from core.judge.sign import Kind, Scene, Sign, Signs
from core.judge.told_already import all_stall
from core.judge.words import key_of, last_step, name_of, short_time
from core.model.finding import Proposal, Severity
from core.model.operation import Operation
from core.model.process import Process, ProcessState
from core.model.sample import Sample, SampleStatus
from core.model.task import Task, TaskState
from core.text import shown

_LEAST = JudgeRule(
    kind="spin-up", name="least", default=900, unit="seconds",
    help="A task with nothing done is not judged before.",
)  # fmt: skip
_TIMES = JudgeRule(
    kind="spin-up", name="times", default=3, unit="times",
    help="Times that such a task of this model took until its first sample was done.",
)  # fmt: skip

NOTED_FROM = 0.5
"""Part of the time from which a reading counts as one of those that must agree."""
_BEGINS = frozenset({ProcessState.STARTING, ProcessState.LIVE})
_MAX_COMMAND_CHARACTERS = 60
_PAUSE = Proposal(action="pause", scope="task")
_CANCEL = Proposal(action="cancel", scope="task")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A task with nothing done: how long it has run, and from when that is too long, seconds."""

    task: Task
    lasted: float
    bound: float


def _signs(scene: Scene) -> Signs:
    usual = {name: max(took) for name, took in scene.fleet.spin_ups.items()}
    young: list[Task] = []
    for task in scene.fleet.tasks.values():
        if task.first_done_s is not None:
            name = (task.row.task, task.row.model)
            usual[name] = max(usual.get(name, 0.0), task.first_done_s)
        elif task.state is TaskState.RUNNING and not task.row.samples.ended:
            young.append(task)
    waiting: dict[ProcessKey, list[_Waiting]] = {}
    for task in young:
        found = _waiting(scene, task, usual.get((task.row.task, task.row.model), 0.0))
        if found is not None:
            waiting.setdefault(task.key.process, []).append(found)
    signs = [_sign(scene, key, each) for key, each in waiting.items()]
    signs += [
        sign
        for process in scene.fleet.processes.values()
        if not process.tasks and (sign := _before_its_tasks(scene, process)) is not None
    ]
    return Signs(reading=scene.at, found=tuple(signs))


def _before_its_tasks(scene: Scene, process: Process) -> Sign | None:
    """Return the sign of a process that lists no task yet; None: it has not run for long.

    Inspect builds the images of a task before it lists the task.
    """
    key, bound = process.key, scene.rules.number(_LEAST)
    if process.state not in _BEGINS or process.started_at is None:
        return None
    if process.tasks_left_out or not scene.fleet.is_up(key.machine):
        return None
    lasted = scene.at + scene.fleet.clock_offset(key.machine) - process.started_at
    if lasted < bound * NOTED_FROM:
        return None
    command = _command(process)
    waits_for = f"it waits for {_command_words(command)}" if command is not None else ""
    lasts = short_time(last_step(lasted, bound))
    text = f"Process {key.pid} has no task after over {lasts}"
    return Sign(
        key=_key(key),
        severity="suspect" if lasted >= bound else None,
        reading=scene.at,
        text=sentences(
            f"{text}; {waits_for}" if waits_for else text, "See its output, or cancel the task"
        ),
        since=round(scene.at - lasted),
        cause=waits_for,
        closes_when="a sample ends",
        machine=key.machine,
        process=key,
    )


def _waiting(scene: Scene, task: Task, usual: float) -> _Waiting | None:
    row = task.row
    is_held = row.paused or row.paused_now or row.process_paused or row.process_paused_now
    if row.started_at is None or is_held or not row.samples.total:
        return None
    is_known = scene.fleet.is_up(task.key.machine) or _key(task.key.process) in scene.open
    bound = max(scene.rules.number(_LEAST), scene.rules.number(_TIMES) * usual)
    lasted = task.as_of - row.started_at
    if not is_known or lasted < bound * NOTED_FROM:
        return None
    running = _running(task)
    if running and all_stall(scene.fleet, task, running):
        return None  # each of them has a finding that says why
    return _Waiting(task, lasted, bound)


def _key(process: ProcessKey) -> str:
    return key_of(f"{process.machine}:{process.pid}:{process.start}")


def _running(task: Task) -> list[Sample]:
    return [row for row in task.samples.values() if row.status == SampleStatus.RUNNING]


def _sign(scene: Scene, key: ProcessKey, waiting: list[_Waiting]) -> Sign:
    worst = max(waiting, key=lambda each: each.lasted / max(1.0, each.bound))
    task, others = worst.task, len(waiting) - 1
    process = scene.fleet.processes.get(key)
    lasts = short_time(last_step(worst.lasted, worst.bound))
    works = any(each.task.row.total_tokens for each in waiting)
    severity: Severity | None = None
    if worst.lasted >= worst.bound:
        severity = "notice" if works else "suspect"
    more = f" and {plural(others, 'other task')} of its process" if others else ""
    waits_for = _waits_for(process, task)
    text = f"No sample of {name_of(task.row.task)}{more} is done after over {lasts}; {waits_for}"
    return Sign(
        key=_key(key),
        severity=severity,
        reading=task.heard_at,
        text=sentences(text, None if works else "See its output and its model, or cancel the task"),
        since=round(task.heard_at - worst.lasted),
        cause=waits_for,
        proposals=(_PAUSE, _CANCEL) if not works else (_PAUSE,),
        closes_when="a sample ends",
        machine=key.machine,
        process=key,
        task=task.key,
        model=task.row.model,
        covered_by=("outage",),
        count=len(waiting),
    )


def _waits_for(process: Process | None, task: Task) -> str:
    """Return what a task waits for, as far as its trace and its samples tell."""
    command = _command(process)
    if command is not None:
        return f"it waits for {_command_words(command)}"
    running = _running(task)
    if not running:
        waiting = task.row.samples.in_flight
        return (
            f"{plural(waiting, 'sample is', 'samples are')} being prepared"
            if waiting
            else "no sample has started: it loads its data, its model or its sandboxes"
        )
    doing = Counter(row.activity.type if row.activity else "" for row in running)
    [(most, number)] = doing.most_common(1)
    where = f"{number} of {plural(len(running), 'running sample')}"
    tokens = task.row.total_tokens
    used = f"; they have used over {count(last_step(tokens, 1_000))} tokens" if tokens else ""
    return f"{where} {_DOING.get(most, 'prepare, or work without a model')}{used}"


def _command(process: Process | None) -> Operation | None:
    """Return the oldest command of a process that is not of a sample; None: it runs none."""
    commands = [
        each
        for each in (process.operations or () if process is not None else ())
        if each.is_command and each.sample is None
    ]
    return min(commands, key=lambda each: each.since, default=None)


def _command_words(command: Operation) -> str:
    return shown(f"{command.what} {command.words}".strip(), _MAX_COMMAND_CHARACTERS)


_DOING = {
    "model": "wait for an answer of the model",
    "retry_wait": "wait for a retry of a model call",
    "tool": "run a tool",
    "approval": "wait for an approval",
    "question": "wait for an answer to a question",
}

KIND = Kind(
    name="spin-up",
    help="A task has run for long, and none of its samples is done.",
    numbers=(_LEAST, _TIMES),
    of_fleet=_signs,
)
