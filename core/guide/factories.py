"""A new guide of each kind, from what is selected."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from core.act.target_expansion import live_processes, with_model
from core.act.target_labels import target_label
from core.errors import UsageWrong
from core.fleet import Fleet
from core.format import plural
from core.guide.guide import Guide, GuideKind, GuideStep, StepKind, StepState
from core.guide.resume_command import ResumeCommand
from core.ids import ProcessKey, Target, TaskKey, address_of
from core.model.order import Instance
from core.model.process import ProcessState
from core.text import shown

_LONG = 200


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


def park_guide(
    fleet: Fleet, key: ProcessKey, built: ResumeCommand, now: float, instance: Instance
) -> Guide:
    """Return the guide that parks a process safely; its command is built already."""
    process = fleet.processes[key]
    tasks = [fleet.tasks[each] for each in process.tasks]
    running = [task for task in tasks if not task.row.is_completed]
    known = bool(built.command)
    said = "known: y copies it" if known else f"not known: {built.why_not}; it stops before that"
    command = GuideStep(
        kind=StepKind.COMMAND,
        title="the command that resumes it",
        state=StepState.DONE if known else StepState.SKIPPED,
        sentence=said,
        since=now,
    )
    steps = (
        command,
        _step(StepKind.PAUSE, "pause the process"),
        _step(StepKind.QUIESCE, "wait until nothing is in flight"),
        _step(StepKind.FLUSH, "write each task's log"),
        _step(StepKind.INTERRUPT, "interrupt"),
        _step(StepKind.END, "logs written, process gone"),
    )
    names = ", ".join(dict.fromkeys(task.row.task for task in running))
    guide = _new(
        GuideKind.PARK, f"{key.machine}:{key.pid} {names}".strip(), [key], steps, (now, instance)
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
    """Return the guide that pauses a model, and later resumes what it paused.

    Args:
        fleet: What is known.
        model: Its exact name.
        among: Only in these processes; None: everywhere.
        now: Unix seconds at the desk.
        instance: This evalroom.
        is_now: Whether what is in flight is held too.

    Raises:
        UsageWrong: It runs nowhere there.
    """
    found = with_model(fleet, model, among)
    if not found:
        raise UsageWrong(
            f"no process there runs {shown(model)}", "the exact names stand in: evalroom status"
        )
    how = "pause it now" if is_now else "pause it"
    steps = (
        _step(StepKind.PAUSE, f"{how}, everywhere"),
        _step(StepKind.RESUME, "resume what was paused here"),
    )
    guide = _new(GuideKind.INCIDENT, model, found, steps, (now, instance))
    return replace(guide, is_now=is_now)


def finish_guide(fleet: Fleet, key: TaskKey, now: float, instance: Instance) -> Guide:
    """Return the guide that ends a task early, the mildest way first.

    Raises:
        UsageWrong: It is finished.
    """
    task = fleet.tasks[key]
    name = target_label(key, fleet)
    if task.row.is_completed:
        raise UsageWrong(f"{name} is finished already")
    steps = (
        _step(StepKind.DRAIN, "drain: start nothing new"),
        _step(StepKind.SCORE, "score what is in flight"),
        _step(StepKind.CANCEL, "cut off what is in flight"),
        _step(StepKind.END, "its log is written"),
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
    """Return the guide that asks, for each parked process, whether it may end.

    Args:
        fleet: What is known.
        among: Only of these processes; None: all.
        ours: Those that were launched here.
        now: Unix seconds at the desk.
        instance: This evalroom.
        others: Also offer what was not launched here.

    Raises:
        UsageWrong: There is none that may be offered.
    """
    chosen = live_processes(fleet) if among is None else among
    parked = [key for key in chosen if fleet.processes[key].state is ProcessState.PARKED]
    offered = [key for key in parked if others or key in ours]
    left = len(parked) - len(offered)
    if not offered:
        if left:
            told = f"{plural(left, 'process', 'processes')} parked, none of them launched here"
            raise UsageWrong(told, "to be asked for them too: --others")
        raise UsageWrong("no process there is parked")
    steps = tuple(
        replace(
            _step(StepKind.RELEASE, f"release {key.machine}:{key.pid}"), address=address_of(key)
        )
        for key in offered
    )
    name = plural(len(offered), "parked process", "parked processes")
    guide = _new(GuideKind.CLEANUP, name, offered, steps, (now, instance))
    notes = (f"{left} more parked, not launched here, are left alone",) if left else ()
    return replace(guide, notes=notes)
