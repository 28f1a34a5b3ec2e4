"""Makes a new guide of each kind for the selected targets."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from core.act.target_expansion import live_processes, with_model
from core.act.target_labels import target_label
from core.errors import TargetUnknown, UsageWrong
from core.fleet import Fleet
from core.format import plural
from core.guide.guide import Guide, GuideKind, GuideStep, StepKind, StepState
from core.guide.leftover_removal import removal_steps
from core.guide.resume_command import ResumeCommand
from core.ids import ProcessKey, Target, TaskKey, address_of
from core.judge.docker_findings import unclaimed_words
from core.model.order import Instance
from core.model.process import ProcessState
from core.text import shown

_LONG = 200
_STOPS = "The guide stops before the interrupt"


def _new(
    kind: GuideKind,
    name: str,
    targets: Sequence[Target],
    steps: Sequence[GuideStep],
    begun: tuple[float, Instance],
) -> Guide:
    now, instance = begun
    return Guide(
        id=secrets.token_hex(4),
        kind=kind,
        name=shown(name, _LONG),
        targets=tuple(map(address_of, targets)),
        steps=tuple(steps),
        made_at=now,
        instance=instance,
    )


def _step(kind: StepKind, title: str) -> GuideStep:
    return GuideStep(kind=kind, title=title)


def interrupt_guide(
    fleet: Fleet, key: ProcessKey, built: ResumeCommand, now: float, instance: Instance
) -> Guide:
    """Return the guide that interrupts a process safely, with its command to resume the run."""
    process = fleet.processes[key]
    tasks = [fleet.tasks[each] for each in process.tasks]
    running = [task for task in tasks if not task.row.is_completed]
    known = bool(built.command)
    command = GuideStep(
        kind=StepKind.COMMAND,
        title="command that resumes the run",
        state=StepState.DONE if known else StepState.SKIPPED,
        sentence="known; shown below" if known else f"unknown: {built.why_not}. {_STOPS}",
        since=now,
    )
    steps = (
        command,
        _step(StepKind.PAUSE, "pause the process"),
        _step(StepKind.QUIESCE, "wait until no sample is in flight"),
        _step(StepKind.FLUSH, "write the log of each task"),
        _step(StepKind.INTERRUPT, "interrupt the process"),
        _step(StepKind.END, "wait for the logs and the exit"),
    )
    names = ", ".join(dict.fromkeys(task.row.task for task in running))
    guide = _new(
        GuideKind.INTERRUPT,
        f"{key.machine}:{key.pid} {names}".strip(),
        [key],
        steps,
        (now, instance),
    )
    logs = tuple(task.row.log_location for task in running)
    return _with_command(guide, built, logs)


def _with_command(guide: Guide, built: ResumeCommand, logs: tuple[str, ...]) -> Guide:
    return replace(
        guide, command=built.command, variables=built.variables, notes=built.notes, logs=logs
    )


def incident_guide(
    fleet: Fleet,
    model: str,
    among: Sequence[ProcessKey] | None,
    now: float,
    instance: Instance,
    *,
    is_now: bool,
) -> Guide:
    """Return the guide that pauses a model and later resumes what it paused.

    Args:
        fleet: All that is known.
        model: The exact name of the model.
        among: The processes to pause it in; None: everywhere.
        now: Unix seconds at the desk.
        instance: This evalroom.
        is_now: Whether samples in flight are held too.

    Raises:
        TargetUnknown: None of these processes uses the model.
    """
    found = with_model(fleet, model, among)
    if not found:
        which = "live" if among is None else "selected"
        raise TargetUnknown(
            f"no {which} process uses {shown(model)}", "list the exact names: evalroom status"
        )
    how = "pause the model now" if is_now else "pause the model"
    steps = (
        _step(StepKind.PAUSE, f"{how}, everywhere"),
        _step(StepKind.RESUME, "resume what this guide paused"),
    )
    guide = _new(GuideKind.INCIDENT, model, found, steps, (now, instance))
    return replace(guide, is_now=is_now)


def finish_guide(fleet: Fleet, key: TaskKey, now: float, instance: Instance) -> Guide:
    """Return the guide that ends a task early, starting with the mildest way.

    Raises:
        UsageWrong: The task is finished.
    """
    task = fleet.tasks[key]
    name = target_label(key, fleet)
    if task.row.is_completed:
        raise UsageWrong(f"{name} is already finished")
    steps = (
        _step(StepKind.DRAIN, "drain: start no new samples"),
        _step(StepKind.SCORE, "score the samples in flight"),
        _step(StepKind.CANCEL, "cut off the samples in flight"),
        _step(StepKind.END, "wait for the log"),
    )
    guide = _new(GuideKind.FINISH, f"{key.machine} {name}", [key], steps, (now, instance))
    return replace(guide, logs=(task.row.log_location,))


def cleanup_guide(
    fleet: Fleet,
    among: Sequence[ProcessKey] | None,
    ours: frozenset[ProcessKey],
    now: float,
    instance: Instance,
    *,
    others: bool,
) -> Guide:
    """Return the guide that asks for each parked process whether it may exit.

    For all processes, it also has a step for each machine with containers that no eval holds.

    Args:
        fleet: All that is known.
        among: The processes to consider; None: all.
        ours: The processes that this operator launched.
        now: Unix seconds at the desk.
        instance: This evalroom.
        others: Whether to include processes that this operator did not launch.

    Raises:
        UsageWrong: None of the processes is parked, or may be included, and no container is left.
    """
    chosen = live_processes(fleet) if among is None else among
    parked = [key for key in chosen if fleet.processes[key].state is ProcessState.PARKED]
    offered = [key for key in parked if others or key in ours]
    left = len(parked) - len(offered)
    removals = tuple(removal_steps(fleet)) if among is None else ()
    if not offered and not removals:
        if left:
            parked_there = plural(left, "process is", "processes are")
            why = f"{parked_there} parked, but launched by someone else"
            raise UsageWrong(why, "to include them, add --others")
        unknown = (unclaimed_words(fleet, name, now) for name in fleet.machines)
        raise UsageWrong(
            "none of these processes is parked, and no container is left over",
            " ".join(each[1] for each in unknown if each is not None and among is None),
        )
    releases = tuple(
        replace(
            _step(StepKind.RELEASE, f"release {key.machine}:{key.pid}"), address=address_of(key)
        )
        for key in offered
    )
    number = sum(len(step.containers) for step in removals)
    names = (
        plural(len(offered), "parked process", "parked processes") if offered else "",
        plural(number, "leftover container") if number else "",
    )
    name = " and ".join(filter(None, names))
    guide = _new(GuideKind.CLEANUP, name, offered, (*releases, *removals), (now, instance))
    more = plural(left, "more parked process", "more parked processes")
    notes = (f"{more}, launched by someone else",) if left else ()
    return replace(guide, notes=notes)
