"""How well and how cheaply evalroom judges: the incident library, time left, and full load."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event, ReadsUnchanged, TasksSeen
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import MachineName, TaskKey
from core.judge.pace import time_left
from core.model.sample import Activity, Sample, SampleCounts
from core.model.task import Task, TaskState
from tests.bench.rows import Result, percentile
from tests.support.fleets import (
    NOW,
    link,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.incidents import all_incidents, deadline, judged

TASKS_OF_MACHINE = 5
SAMPLES_OF_TASK = 20
POLL_S = 2.0
CHANGED_EACH_S = 0.01


def measure(folder: Path, quick: bool) -> list[Result]:
    """Judge the library, hold ranges of time left to the truth, and judge a full load."""
    del folder
    return [*_library(), *ranges(), *_load(20 if quick else 200)]


def _library() -> list[Result]:
    wanted = found = false = in_time = notices = 0
    late: list[float] = []
    incidents = all_incidents()
    for incident in incidents:
        events = incident.events()
        seen = judged(events, incident.rules)
        false += sum(not any(each.fits(one) for each in incident.expected) for one in seen.seen)
        notices += len(seen.notices)
        for expected in incident.expected:
            fits = [each for each in seen.seen if expected.fits(each)]
            wanted += expected.times
            found += min(len(fits), expected.times)
            due = deadline(events, incident, expected)
            moment = incident.moments.get(expected.after, 0.0) + expected.within
            for each in fits:
                in_time += each.at <= due
                late.append(max(0.0, each.at - events[0].at - moment))
    healthy = sum(each.is_healthy for each in incidents)
    what = f"{len(incidents)} incidents ({healthy} healthy)"
    return [
        Result(
            what=f"{what}: found", value=100 * found / wanted, unit="%", goal=100.0, better="above"
        ),
        Result(what="the same: false findings", value=false, unit="", goal=0),
        Result(
            what="the same: found within one reading",
            value=100 * in_time / max(1, found),
            unit="%",
            goal=100.0,
            better="above",
        ),
        Result(
            what="the same: after the rule allows it, p95 (polls each second)",
            value=percentile(late, 0.95),
            unit="s",
        ),
        Result(what="the same: notices", value=notices, unit=""),
    ]


def ranges() -> list[Result]:
    """Hold the ranges of time left in the healthy incidents to what came true."""
    held = checked = 0
    widths: list[float] = []
    for incident in all_incidents():
        if not incident.is_healthy or "stretch" in incident.told:
            continue
        for left, p50, p90, share in _checkpoints(incident.events()):
            checked += 1
            # Half of such tasks end before p50, nine in ten before p90; a look is seconds apart.
            held += p50 / 2 - POLL_S <= left <= p90 + POLL_S
            # In the last seconds of a task the next look comes before its end.
            if share >= 0.5 and p50 > POLL_S and incident.name == "healthy_steady":
                widths.append(p90 / p50)
    return [
        Result(
            what=f"time left: half of p50 to p90 holds the truth, of {checked} checkpoints",
            value=100 * held / max(1, checked),
            unit="%",
            goal=80.0,
            better="above",
        ),
        Result(
            what="the same: p90 over p50 of a steady task past half, largest",
            value=max(widths, default=0.0),
            unit="times",
            goal=3.0,
        ),
    ]


def _checkpoints(events: tuple[Event, ...]) -> Iterator[tuple[float, float, float, float]]:
    """Yield the true seconds left, the range, and the part that is done, at each task list.

    The truth is when the last sample has ended; scores and the log come after it.
    """
    fleet = Fleet()
    for event in events:
        fleet = fold(fleet, event)
    ends = {key: end for key, task in fleet.tasks.items() if (end := _end(fleet, task)) is not None}
    fleet = Fleet()
    for event in events:
        fleet = fold(fleet, event)
        if not isinstance(event, TasksSeen):
            continue
        for key, task in fleet.tasks.items():
            estimate = time_left(task, event.at)
            if estimate is None or key not in ends or key.process != event.process:
                continue
            counts = task.row.samples
            share = counts.ended / max(1, counts.total)
            yield ends[key] - event.at, estimate.p50, estimate.p90, share


def _end(fleet: Fleet, task: Task) -> float | None:
    """Return when the last sample of a task ended, Unix seconds at the desk; None: unknown."""
    completed = [each.completed_at for each in task.samples.values() if each.completed_at]
    if task.state is not TaskState.SUCCESS or len(completed) < len(task.samples):
        return None
    return max(completed, default=0.0) - fleet.clock_offset(task.key.machine)


def _load(machines: int) -> list[Result]:
    rules = JudgeConfig()
    fleet = _full(machines)
    seconds = 20
    events = [list(_second(fleet, machines, second)) for second in range(seconds)]
    alone = together = 0.0
    folded = judged_fleet = fleet
    for each in events:
        began = time.process_time()
        for event in each:
            folded = fold(folded, event)
        middle = time.process_time()
        for event in each:
            judged_fleet = advance(judged_fleet, event, rules)
        together += time.process_time() - middle
        alone += middle - began
    load = f"{machines * TASKS_OF_MACHINE} tasks, {len(_names(machines)) * 100} running samples"
    judging = together - alone
    return [
        Result(
            what=f"judging {load}: of a core",
            value=100 * judging / seconds,
            unit="%",
            goal=2.0,
        ),
        Result(
            what="the same: of the time to fold and judge", value=100 * judging / together, unit="%"
        ),
    ]


def _names(machines: int) -> list[MachineName]:
    return [MachineName(f"m{number:03d}") for number in range(machines)]


def _task_id(number: int) -> str:
    return f"t{number}"


def _rows() -> list[Sample]:
    """Return samples that have generated for up to a minute, as models do that think first."""
    return [
        replace(
            sample(number + 1),
            total_tokens=1000,
            last_activity_at=NOW - 3.0 * number,
            activity=Activity(type="model", started_at=NOW - 3.0 * number, detail="m"),
        )
        for number in range(SAMPLES_OF_TASK)
    ]


def _full(machines: int) -> Fleet:
    fleet = Fleet()
    rows = _rows()
    for name in _names(machines):
        events: list[Event] = [named(name), link(machine=name), process_seen(name)]
        tasks = [
            task_row(_task_id(number), done=10, flying=20, model="openai/o3-large")
            for number in range(TASKS_OF_MACHINE)
        ]
        events.append(tasks_seen(*tasks, machine=name))
        events += [
            samples_seen(*rows, task=task_key(_task_id(number), name))
            for number in range(TASKS_OF_MACHINE)
        ]
        for event in events:
            fleet = advance(fleet, event)
    return fleet


def _second(fleet: Fleet, machines: int, second: int) -> Iterator[Event]:
    """Yield what half of the machines say: each is polled every two seconds."""
    each_poll = CHANGED_EACH_S * POLL_S * SAMPLES_OF_TASK
    for index, name in enumerate(_names(machines)):
        if index % 2 != second % 2:
            continue
        at = NOW + 1 + second + index / machines
        still: list[tuple[TaskKey, float]] = []
        for number in range(TASKS_OF_MACHINE):
            key = task_key(_task_id(number), name)
            if (index * 7 + number * 3 + second) % 10 >= 10 * each_poll:
                still.append((key, at))
                continue
            row = replace(
                fleet.tasks[key].samples[1 + second % SAMPLES_OF_TASK, 1],
                total_tokens=1000 + second,
                last_activity_at=at,
                activity=Activity(type="model", started_at=at, detail="m"),
            )
            counts = SampleCounts(running=SAMPLES_OF_TASK, completed=10, pending=70)
            yield samples_seen(row, task=key, at=at, whole=False, counts=counts)
        yield ReadsUnchanged(
            at=at, machine=name, tasks=((process_key(name), at),), samples=tuple(still)
        )
