"""The report on a part of the fleet: how far, what went wrong, what stands out, what to do."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.act.proposed_commands import proposed_command
from core.config.judge import JudgeConfig
from core.errors import TargetUnclear
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.judge.kinds.stall import limits_of, proposals_for, stillnesses
from core.judge.pace import durations, quantile, time_left, tokens_per_minute
from core.judge.prices import Money, spent
from core.judge.sign import Scene
from core.model.finding import SEVERITIES, Finding, Proposal, Severity
from core.model.log_summary import ErrorGroup
from core.model.machine import Machine
from core.model.sample import Sample, SampleStatus
from core.model.task import Task

Target = MachineName | ProcessKey | TaskKey | SampleKey | None
"""What a report is about; None: the whole fleet."""

ENOUGH_FINISHED = 10
"""Finished samples that tell what is usual for a task."""
FAR_TIMES = 3.0
"""A sample stands out from this many times the p95 of the finished ones on."""
MAX_LISTED = 5
"""Samples that a report names for one reason; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """A sample that does one thing for long.

    Attributes:
        sample: The sample.
        name: What it does. Untrusted.
        seconds: For how long, at the newest reading.
        severity: What the rules say of it; one reading is enough here.
        proposals: The actions that end it, the mildest first.
    """

    sample: SampleKey
    name: str
    seconds: float
    severity: Severity
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A running sample that is far from the finished ones of its task.

    Attributes:
        sample: The sample.
        what: `seconds`, `tokens` or `turns`.
        value: What it has used so far.
        usual: The p95 of the finished samples.
    """

    sample: SampleKey
    what: str
    value: float
    usual: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """The report on one task.

    Attributes:
        task: The task.
        left: Its time left, seconds at p50 and p90; None: unknown.
        tokens_per_minute: Its rate; None: unknown.
        money: What it has spent; None: its model has no price.
        run_again: Samples that were run again after an error.
        errors: Why its samples errored, by cause, as far as that was read.
        still: Its samples that look stalled, the longest first.
        outliers: Its running samples that stand out.
    """

    task: Task
    left: tuple[float, float] | None
    tokens_per_minute: float | None
    money: Money | None
    run_again: int
    errors: tuple[ErrorGroup, ...]
    still: tuple[Still, ...]
    outliers: tuple[Outlier, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What to do next.

    Attributes:
        why: The finding or the observation that asks for it. Untrusted.
        command: The command that does it; it asks before it acts.
    """

    why: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """The report on a target.

    Attributes:
        at: Unix seconds at the desk.
        machines: The machines that it is about.
        tasks: A report on each of its tasks.
        findings: The open findings about it, the worst first.
        steps: What to do next, the most urgent first; empty: nothing.
    """

    at: float
    machines: tuple[Machine, ...]
    tasks: tuple[TaskReport, ...]
    findings: tuple[Finding, ...]
    steps: tuple[Step, ...]


def triage(fleet: Fleet, target: Target, rules: JudgeConfig, now: float) -> Triage:
    """Return the report on a target, from what is known now: nothing more is read.

    Args:
        fleet: All that is known.
        target: What it is about; None: the whole fleet.
        rules: The numbers by which samples are judged.
        now: Unix seconds at the desk.

    Raises:
        TargetUnclear: The target is no longer known.
    """
    machines, tasks = _machines(fleet, target), _tasks(fleet, target)
    if target is not None and not machines:
        raise TargetUnclear("the target of this report is no longer known", "choose it again")
    scene = Scene(fleet=fleet, rules=rules, at=now)
    only = target if isinstance(target, SampleKey) else None
    reports = tuple(_task_report(scene, task, only) for task in tasks)
    findings = tuple(
        sorted(
            (each for each in fleet.findings if each.is_open and _is_about(each, target)),
            key=lambda each: (-SEVERITIES.index(each.severity), -each.opened_at),
        )
    )
    return Triage(
        at=now,
        machines=machines,
        tasks=reports,
        findings=findings,
        steps=tuple(_steps(fleet, reports, findings)),
    )


def _machines(fleet: Fleet, target: Target) -> tuple[Machine, ...]:
    if target is None:
        return tuple(fleet.machines.values())
    name = target if isinstance(target, str) else _task_or_process(target).machine
    machine = fleet.machines.get(MachineName(name))
    return (machine,) if machine is not None else ()


def _task_or_process(target: ProcessKey | TaskKey | SampleKey) -> ProcessKey | TaskKey:
    return target.task if isinstance(target, SampleKey) else target


def _tasks(fleet: Fleet, target: Target) -> list[Task]:
    def is_in(key: TaskKey) -> bool:
        match target:
            case None:
                return True
            case SampleKey():
                return key == target.task
            case TaskKey():
                return key == target
            case ProcessKey():
                return key.process == target
            case _:
                return key.machine == target

    return [task for key, task in fleet.tasks.items() if is_in(key)]


def _is_about(finding: Finding, target: Target) -> bool:
    """Whether a finding is about a target, or about what the target runs on."""
    match target:
        case None:
            return True
        case SampleKey():
            return _is_about(finding, target.task) and finding.sample in {None, target}
        case TaskKey():
            return _is_about(finding, target.process) and finding.task in {None, target}
        case ProcessKey():
            process = finding.process or (finding.task.process if finding.task else None)
            return finding.machine == target.machine and process in {None, target}
        case _:
            return finding.machine == target


def _task_report(scene: Scene, task: Task, only: SampleKey | None) -> TaskReport:
    left = time_left(task, scene.at)
    chosen = None if only is None else (only.sample_id, only.epoch)
    return TaskReport(
        task=task,
        left=(left.p50, left.p90) if left is not None else None,
        tokens_per_minute=tokens_per_minute(task.trail, task.heard_at),
        money=spent(task, scene.rules),
        run_again=sum(1 for sample in task.samples.values() if sample.retries),
        errors=task.errors,
        still=tuple(each for each in _still(scene, task) if only in {None, each.sample}),
        outliers=tuple(
            outlier
            for key, sample in task.samples.items()
            if chosen in {None, key}
            for outlier in _outliers(task, sample)
        ),
    )


def _still(scene: Scene, task: Task) -> list[Still]:
    found = list[Still]()
    for key, each in stillnesses(scene.fleet, task):
        suspect, alarm = limits_of(scene, task, each)
        if each.lasted >= suspect:
            found.append(
                Still(
                    sample=SampleKey(task.key, *key),
                    name=each.name,
                    seconds=each.lasted,
                    severity="alarm" if each.lasted >= alarm else "suspect",
                    proposals=proposals_for(each),
                )
            )
    return sorted(found, key=lambda each: -each.seconds)


def _outliers(task: Task, sample: Sample) -> Iterator[Outlier]:
    if sample.status != SampleStatus.RUNNING:
        return
    key = SampleKey(task.key, sample.sample_id, sample.epoch)
    now = task.samples_as_of
    age = now - sample.started_at if now is not None and sample.started_at is not None else None
    for what, value, usual in (
        ("seconds", age, durations(task)),
        ("tokens", sample.total_tokens, _finished(task, "total_tokens")),
        ("turns", sample.turn_count, _finished(task, "turn_count")),
    ):
        if value is None or len(usual) < ENOUGH_FINISHED:
            continue
        p95 = quantile(usual, 0.95)
        if value > FAR_TIMES * p95 > 0:
            yield Outlier(sample=key, what=what, value=value, usual=p95)


def _finished(task: Task, name: str) -> list[float]:
    values = (
        getattr(sample, name)
        for sample in task.samples.values()
        if sample.status == SampleStatus.COMPLETED
    )
    return sorted(value for value in values if value is not None)


def _steps(
    fleet: Fleet, reports: tuple[TaskReport, ...], findings: tuple[Finding, ...]
) -> Iterator[Step]:
    told = set[str]()
    for finding in findings:
        for proposal in finding.proposals[:1]:
            command = proposed_command(fleet, finding, proposal)
            if command and command not in told:
                told.add(command)
                yield Step(why=finding.text, command=command)
    for report in reports:
        for still in report.still[:MAX_LISTED]:
            command = _command(fleet, still)
            if command not in told and still.severity == "alarm":
                told.add(command)
                yield Step(why=still.name, command=command)


def _command(fleet: Fleet, still: Still) -> str:
    finding = Finding(
        id="",
        kind="stall",
        severity=still.severity,
        opened_at=0.0,
        machine=still.sample.task.machine,
        text="",
        task=still.sample.task,
        sample=still.sample,
    )
    return proposed_command(fleet, finding, still.proposals[0])
