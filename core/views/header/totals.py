"""The totals in the header line, and the terminal's title."""

from collections import Counter
from dataclasses import dataclass

from core import format as fmt
from core.fleet import Fleet
from core.format import plural
from core.ids import TaskKey
from core.judge.pace import tokens_per_minute
from core.model.finding import SEVERITIES
from core.model.machine import LinkState
from core.model.task import Task, TaskState
from core.text import Shown, shown
from core.views.cells import Span, Tone, span_of
from core.views.header.run_totals import run_totals
from core.views.tables.findings import TONES
from core.views.tables.row_context import task_lines

HeaderGroup = tuple[Span, ...]

_BAD_LINKS: dict[LinkState, Tone] = {
    LinkState.DOWN: "error",
    LinkState.REFUSED: "error",
    LinkState.NEEDS_TRUST: "warning",
    LinkState.NEEDS_YOU: "warning",
    LinkState.LAGGING: "warning",
    LinkState.CONNECTING: "dim",
}


def header_totals(fleet: Fleet, now: float, orders: HeaderGroup = ()) -> tuple[HeaderGroup, ...]:
    """Return the header's groups: machines, findings, orders, runs, tasks, in flight, token rate.

    A narrow header leaves out the last groups, which the operator needs least.

    Args:
        fleet: All that is known.
        now: Unix seconds at the desk.
        orders: The totals of the orders that were sent; empty: they are left out.
    """
    return (
        _machines(fleet),
        *_findings(fleet),
        *((orders,) if orders else ()),
        *_runs(fleet, now),
        *_tasks(fleet, now),
    )


def _machines(fleet: Fleet) -> HeaderGroup:
    links = Counter(machine.link.state for machine in fleet.machines.values())
    spans = [span_of(plural(len(fleet.machines), "machine"))]
    spans += [
        span_of(f" {links[state]} {state}", tone)
        for state, tone in _BAD_LINKS.items()
        if links[state]
    ]
    return tuple(spans)


@dataclass(frozen=True, slots=True)
class _OfTask:
    """One task's share of the totals; kept while the task stays the same object."""

    task: Task
    word: str
    flying: int | None
    rate: float | None


_kept: dict[TaskKey, _OfTask] = {}
"""Of each task of the fleet, its newest share."""


def _of_task(task: Task) -> _OfTask:
    kept = _kept.get(task.key)
    if kept is not None and kept.task is task:
        return kept
    runs = task.state is TaskState.RUNNING
    counted = _OfTask(
        task=task,
        word="paused" if runs and task.row.paused else str(task.state),
        flying=_flying(task) if runs else 0,
        rate=tokens_per_minute(task.trail, task.heard_at) if runs else None,
    )
    _kept[task.key] = counted
    return counted


def _forget_all_but(fleet: Fleet) -> None:
    """Forget the shares of tasks that left the fleet."""
    if len(_kept) > len(fleet.tasks):
        for key in _kept.keys() - fleet.tasks.keys():
            del _kept[key]


def _flying(task: Task) -> int | None:
    number = task.row.samples.in_flight
    return None if number is None else max(0, number)


def _tasks(fleet: Fleet, now: float) -> tuple[HeaderGroup, ...]:
    words = Counter[str]()
    flying = 0
    is_flying_known = bool(fleet.tasks) or any(m.link.is_alive for m in fleet.machines.values())
    rates = list[float]()
    for line in task_lines(fleet, now):
        if not line.is_known:
            words["unknown"] += 1
            is_flying_known = False
            continue
        of_task = _of_task(line.task)
        words[of_task.word] += 1
        flying += of_task.flying or 0
        is_flying_known = is_flying_known and of_task.flying is not None
        if of_task.rate is not None:
            rates.append(of_task.rate)
    _forget_all_but(fleet)
    tasks = [span_of(plural(len(fleet.tasks), "task"))]
    tasks += [
        span_of(f" {words[word]} {word}", tone) for word, tone in _TASK_WORDS.items() if words[word]
    ]
    number = fmt.count(flying) if flying or is_flying_known else "unknown"
    groups = [tuple(tasks), (span_of(f"{number} in flight"),)]
    if rates:
        groups.append((span_of(f"{fmt.count(sum(rates))} tok/min"),))
    return tuple(groups)


_TASK_WORDS: dict[str, Tone] = {
    "lost": "error",
    "error": "error",
    "unreadable": "warning",
    "paused": "warning",
    "running": "dim",
    "finishing": "dim",
    "success": "dim",
    "cancelled": "dim",
    "unknown": "dim",
}


def _findings(fleet: Fleet) -> tuple[HeaderGroup, ...]:
    counts = Counter(each.severity for each in fleet.findings if each.needs_attention(fleet.at))
    spans: list[Span] = []
    for severity in reversed(SEVERITIES):
        if counts[severity]:
            gap = " " if spans else ""
            words = f"{gap}{plural(counts[severity], severity)}"
            spans.append(Span(Shown(words), TONES[severity]))
    return (tuple(spans),) if spans else ()


def _runs(fleet: Fleet, now: float) -> tuple[HeaderGroup, ...]:
    spans = run_totals(fleet, now)
    return (spans,) if spans else ()


def title(fleet: Fleet) -> Shown:
    """Return the terminal's title: links and findings in trouble, else the running tasks."""
    links = Counter(machine.link.state for machine in fleet.machines.values())
    parts = [
        f"{links[state]} {state}"
        for state, tone in _BAD_LINKS.items()
        if links[state] and tone != "dim"
    ]
    alarms = sum(
        each.severity == "alarm" and each.needs_attention(fleet.at) for each in fleet.findings
    )
    if alarms:
        parts.append(plural(alarms, "alarm"))
    if not parts:
        running = sum(task.state is TaskState.RUNNING for task in fleet.tasks.values())
        parts.append(f"{running} running")
    return shown(f"evalroom: {', '.join(parts)}")
