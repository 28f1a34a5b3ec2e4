"""Decides which findings an event opens, changes or closes. Pure."""

from collections.abc import Iterable

from core.events import (
    Dismissed,
    Event,
    LinkChanged,
    LogRead,
    LogUnreadable,
    MachineRead,
    OperationsSeen,
    OrderEnded,
    ProcessesCut,
    ProcessGone,
    ProcessSeen,
    RunChanged,
    SamplesSeen,
    TasksSeen,
    TimePassed,
)
from core.finding_events import FindingsAcknowledged
from core.fleet import Fleet
from core.judge.docker_findings import judge_docker
from core.judge.finding_list import acknowledged, can_be_acknowledged, closed
from core.judge.limit_findings import judge_limits
from core.judge.link_findings import judge_link
from core.judge.milestone_findings import judge_milestones
from core.judge.order_findings import judge_interrupted, judge_order
from core.judge.process_findings import judge_age, judge_process
from core.judge.run_findings import judge_run
from core.judge.task_findings import judge_task
from core.model.finding import Finding


def judge(before: Fleet, after: Fleet, event: Event) -> tuple[Finding, ...]:
    """Return the findings that `event` opened, changed or closed.

    Args:
        before: The fleet before the event.
        after: The fleet after the event, still with the findings of `before`.
        event: The event.
    """
    return tuple(_judge(before, after, event))


def _judge(  # noqa: C901, PLR0912 - one case per kind of event
    before: Fleet, after: Fleet, event: Event
) -> Iterable[Finding]:
    match event:
        case LinkChanged():
            machine = after.machines.get(event.machine)
            if machine is not None:
                yield from judge_link(after, machine, event.at)
        case ProcessSeen():
            yield from judge_process(before, after, event.process, event.at)
            yield from judge_interrupted(after, event.process, event.at)
        case ProcessesCut():
            yield from judge_limits(before, after, event.machine, event.at)
        case ProcessGone():
            yield from judge_process(before, after, event.process, event.at)
            yield from _tasks(before, after, event)
            yield from judge_interrupted(after, event.process, event.at)
            yield from judge_limits(before, after, event.process.machine, event.at)
        case OperationsSeen():
            yield from judge_limits(before, after, event.process.machine, event.at)
        case TasksSeen():
            yield from judge_process(before, after, event.process, event.at)
            yield from _tasks(before, after, event)
            yield from judge_limits(before, after, event.process.machine, event.at)
        case LogRead() | LogUnreadable():
            yield from judge_task(before, after, event.task, event.at)
            yield from judge_interrupted(after, event.task.process, event.at)
        case SamplesSeen():
            yield from judge_task(before, after, event.task, event.at)
            yield from judge_milestones(before, after, event.task, event.at)
            yield from judge_limits(before, after, event.task.machine, event.at)
        case MachineRead():
            yield from judge_limits(before, after, event.machine, event.at)
            yield from judge_docker(before, after, event.machine, event.at)
        case OrderEnded():
            yield from judge_order(after, event.order, event.at)
        case TimePassed():
            for machine in after.machines.values():
                yield from judge_link(after, machine, event.at)
            for process in after.processes.values():
                yield from judge_age(after, process, event.at)
            yield from _forgotten(after, event.at)
        case Dismissed():
            yield from _forgotten(after, event.at)
        case RunChanged():
            yield from judge_run(before, after, event.run, event.at)
        case FindingsAcknowledged():
            yield from _acknowledged(after, event)
        case _:
            pass


def _tasks(before: Fleet, after: Fleet, event: TasksSeen | ProcessGone) -> Iterable[Finding]:
    process = after.processes.get(event.process)
    for key in process.tasks if process is not None else ():
        yield from judge_task(before, after, key, event.at)
        yield from judge_milestones(before, after, key, event.at)


def _acknowledged(after: Fleet, event: FindingsAcknowledged) -> Iterable[Finding]:
    chosen = frozenset(event.findings)
    for finding in after.findings:
        if finding.id in chosen and can_be_acknowledged(finding):
            yield acknowledged(finding, event.at)


def _forgotten(after: Fleet, at: float) -> Iterable[Finding]:
    """Yield the open findings about processes and tasks that left the fleet, closed."""
    for finding in after.findings:
        if finding.closed_at is not None or finding.is_kept:
            continue
        lost_task = finding.task is not None and finding.task not in after.tasks
        lost_process = finding.process is not None and finding.process not in after.processes
        if lost_task or lost_process:
            yield closed(finding, at)
