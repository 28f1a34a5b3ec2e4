"""Pressure: a machine runs out of memory, disk, CPU or GPU memory."""

import math
from collections.abc import Iterator, Mapping

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fold.sandboxes import held, processes_of
from core.format import clock, plural, size
from core.ids import TaskKey
from core.judge.container_memory import ContainerUse, container_use, room_for
from core.judge.gpu_holders import evals_on_gpus, holders_of
from core.judge.levels import Level, power_above, power_below, step_down
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.model.action import Change
from core.model.finding import Proposal
from core.model.machine import Disk, Machine, MachineFacts
from core.model.machine_trail import DiskPoint
from core.text import shown

GIB = 1024.0**3
SHARE = 10.0
"""A disk is full from the config's free bytes on, or from this part of it on, percent; a small disk
can't hold the first."""
MIN_TRAIL_S = 300.0
"""A pace is known from free bytes that were watched for so long, seconds."""
_HOUR_S, _QUARTER_S = 3_600.0, 900.0
_MAX_PATH = 120
_STEP = 5.0


def _rule(name: str, default: float, unit: str, what: str, high: float = 1e9) -> JudgeRule:
    return JudgeRule(
        kind="pressure", name=name, default=default, unit=unit, help=what, high=high
    )  # fmt: skip


_MEMORY = (
    _rule("memory.suspect", 90, "percent", "Memory in use from which it is suspect.", 100),
    _rule("memory.alarm", 97, "percent", "Memory in use from which it is an alarm.", 100),
)
_DISK = (
    _rule("disk.suspect", 10, "GiB", "Free space of a disk below which it is suspect."),
    _rule("disk.alarm", 2, "GiB", "Free space of a disk below which it is an alarm."),
)
_FULL = (
    _rule("full-in.suspect", 6, "hours", "A disk that is full sooner, at its pace, is suspect."),
    _rule("full-in.alarm", 1, "hours", "A disk that is full sooner, at its pace, is an alarm."),
)
_LOAD = (
    _rule("load.suspect", 2, "threads", "Runnable threads for each CPU, over 5 minutes: suspect."),
    _rule("load.alarm", 8, "threads", "Runnable threads for each CPU, over 5 minutes: an alarm."),
)
_GPU = (_rule("gpu.suspect", 98, "percent", "Memory of a GPU in use: suspect.", 100),)
_CLOSES = "two readings in a row are below the limit"


def _signs(scene: Scene, machine: Machine) -> Signs | None:
    facts = machine.facts
    if facts is None or not machine.link.is_alive:
        return None
    found: list[Sign] = []
    uses = _container_uses(scene, machine, facts)
    found += _memory(scene, machine, facts, uses)
    found += _containers(scene, machine, facts, uses)
    for disk in _disks(facts):
        found += _disk(scene, machine, disk)
    found += _load(scene, machine, facts)
    found += _gpus(scene, machine, facts)
    return signs(facts.at, found)


def _memory(
    scene: Scene, machine: Machine, facts: MachineFacts, uses: Mapping[TaskKey, ContainerUse]
) -> Iterator[Sign]:
    total, available = facts.memory.total, facts.memory.available
    if not total or available is None:
        return
    used = 100.0 * (total - available) / total
    level = Level(*_numbers(scene, _MEMORY), eases=0.95)
    if not level.shows(used, is_open="memory" in scene.open):
        return
    biggest = max(uses.values(), key=lambda each: each.total, default=None)
    about: TaskKey | None = None
    cause, proposals = "", tuple[Proposal, ...]()
    advice = "See on the machine's page what uses it, and end or pause what may wait"
    if biggest is not None and biggest.total >= total * 0.2:
        about = biggest.task.key
        name = shown(biggest.task.row.task, 60)
        cause = f"the containers of {name} use about {size(biggest.total)}"
        proposals = _lower(room_for(biggest, available - total * 0.15))
        advice = "Let that task run fewer samples at once"
    yield Sign(
        key="memory",
        severity=level.severity(used),
        reading=facts.at,
        text=sentences(
            f"Over {step_down(used, _STEP)}% of {size(total)} of memory are in use", advice
        ),
        cause=cause,
        proposals=proposals,
        closes_when=_CLOSES,
        machine=machine.name,
        task=about,
    )


def _containers(
    scene: Scene, machine: Machine, facts: MachineFacts, uses: Mapping[TaskKey, ContainerUse]
) -> Iterator[Sign]:
    """Yield the tasks whose containers will not fit into memory once all its samples run."""
    available = facts.memory.available
    if available is None:
        return
    for key, use in uses.items():
        more = use.at_once - use.samples
        needed = more * use.each
        name = f"containers:{key.process.pid}:{key.process.start}:{key.task_id}"
        level = Level(suspect=1.0, alarm=math.inf, eases=0.8)
        if more <= 0 or not level.shows(needed / max(1, available), is_open=name in scene.open):
            continue
        fit = room_for(use, available * 0.9)
        text = sentences(
            f"This task may run {plural(use.at_once, 'sample')} at once. Their containers use up to"
            f" {size(power_above(use.each))} each, which is more memory than the machine has free",
            f"Set max_samples to {fit}",
        )
        yield Sign(
            key=name,
            severity="suspect",
            reading=facts.at,
            text=text,
            proposals=_lower(fit),
            closes_when="the samples of the process fit",
            machine=machine.name,
            process=key.process,
            task=key,
        )


def _lower(fit: int) -> tuple[Proposal, ...]:
    change = Change(knob="max_samples", value=max(1, fit))
    return (Proposal(action="config", scope="task", changes=(change,)),)


def _disk(scene: Scene, machine: Machine, disk: Disk) -> Iterator[Sign]:
    free, total = disk.free, disk.total
    if free is None or not total:
        return
    suspect, alarm = _numbers(scene, _DISK)
    share = total * SHARE / 100.0
    suspect, alarm = min(suspect * GIB, share), min(alarm * GIB, share / 5.0)
    key = f"disk:{disk.path}"
    facts_at = machine.facts.at if machine.facts is not None else 0.0
    left = seconds_left(machine.trail.disks.get(disk.path, ()), facts_at)
    soon, very_soon = (each * _HOUR_S for each in _numbers(scene, _FULL))
    eases = 1.25 if key in scene.open else 1.0
    is_low = free <= suspect * eases
    is_soon = left is not None and left <= soon * eases
    if not is_low and not is_soon:
        return
    is_alarm = free <= alarm or (left is not None and left <= very_soon)
    what = "home" if disk.what == "home" else "logs"
    where = f"the disk of the {what} ({shown(disk.path, _MAX_PATH)})"
    begin = f"Under {size(power_above(free))} are free on {where}"
    if free <= 0:
        begin = f"Nothing is free on {where}"
    if left is not None and left <= soon * 2:
        hour = math.ceil((scene.at + left) / _QUARTER_S) * _QUARTER_S
        begin += f", and it is full at about {clock(hour)} at this pace"
    yield Sign(
        key=key,
        severity="alarm" if is_alarm else "suspect",
        reading=facts_at,
        text=sentences(begin, "Make room there: logs that can't be written are lost"),
        closes_when="the disk has more room",
        machine=machine.name,
    )


def seconds_left(points: tuple[DiskPoint, ...], now: float) -> float | None:
    """Return in how many seconds a disk is full at its recent pace; None: it does not fill."""
    if len(points) < 2 or points[-1].at - points[0].at < MIN_TRAIL_S:  # noqa: PLR2004 - a line
        return None
    middle = points[(len(points) - 1) // 2]
    first, last = points[0], points[-1]
    pace = (first.free - last.free) / (last.at - first.at)
    recent = (middle.free - last.free) / max(1.0, last.at - middle.at)
    if pace <= 0 or recent <= 0:
        return None  # it does not fill, or no longer
    return max(0.0, last.free / min(pace, recent) - (now - last.at))


def _disks(facts: MachineFacts) -> tuple[Disk, ...]:
    """Return the disks, each once: folders with the same size and free bytes are on one disk."""
    found: dict[tuple[int | None, int | None], Disk] = {}
    for disk in sorted(facts.disks, key=lambda each: (each.what != "logs", each.path)):
        found.setdefault((disk.total, disk.free), disk)
    return tuple(found.values())


def _load(scene: Scene, machine: Machine, facts: MachineFacts) -> Iterator[Sign]:
    if len(facts.load) < 2 or not facts.cpus:  # noqa: PLR2004 - the second is over 5 minutes
        return
    each = facts.load[1] / facts.cpus
    level = Level(*_numbers(scene, _LOAD), eases=0.75)
    if not level.shows(each, is_open="load" in scene.open):
        return
    over = power_below(each)
    yield Sign(
        key="load",
        severity=level.severity(each),
        reading=facts.at,
        text=sentences(
            f"Over {plural(over, 'thread')} wait for each CPU, over the last 5 minutes",
            "Let its evals run fewer samples or subprocesses at once",
        ),
        closes_when=_CLOSES,
        machine=machine.name,
    )


def _gpus(scene: Scene, machine: Machine, facts: MachineFacts) -> Iterator[Sign]:
    evals = evals_on_gpus(scene, machine)
    level = Level(scene.rules.number(_GPU[0]), math.inf, eases=0.97)
    for gpu in facts.gpus if evals else ():
        if not gpu.memory_total or gpu.memory_used is None:
            continue
        key = f"gpu:{gpu.uuid or gpu.index}"
        used = 100.0 * gpu.memory_used / gpu.memory_total
        holders = holders_of(gpu, evals)
        if not holders or not level.shows(used, is_open=key in scene.open):
            continue
        yield Sign(
            key=key,
            severity="suspect",
            reading=facts.at,
            text=sentences(
                f"The memory of GPU {gpu.index} ({size(gpu.memory_total)}) is full to"
                f" {step_down(used, 1)}%",
                "The next large request may fail: give the eval fewer connections",
            ),
            closes_when=_CLOSES,
            machine=machine.name,
            process=holders[0].key,
        )


def _container_uses(
    scene: Scene, machine: Machine, facts: MachineFacts
) -> Mapping[TaskKey, ContainerUse]:
    if not any(each.memory for each in facts.docker.containers):
        return {}
    fleet = scene.fleet
    processes = {each.key: each for each in processes_of(fleet, machine.name)}
    uses: dict[TaskKey, ContainerUse] = {}
    for key, boxes in held(fleet, machine.name, facts.docker).items():
        task = fleet.tasks[key]
        use = container_use(fleet, task, processes[key.process], boxes, facts.cpus)
        if use is not None:
            uses[key] = use
    return uses


def _numbers(scene: Scene, rules: tuple[JudgeRule, JudgeRule]) -> tuple[float, float]:
    return scene.rules.number(rules[0]), scene.rules.number(rules[1])


KIND = Kind(
    name="pressure",
    help="A machine runs out of memory, disk, CPU or GPU memory.",
    numbers=(*_MEMORY, *_DISK, *_FULL, *_LOAD, *_GPU),
    of_machine=_signs,
)
