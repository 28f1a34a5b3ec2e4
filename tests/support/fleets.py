"""Builders of events and fleets, for tests that say only what matters to them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from core.desk.step import advance
from core.events import (
    DeadEvalFound,
    Event,
    LinkChanged,
    LogRead,
    MachineNamed,
    MachineRead,
    ProbeAnswered,
    ProcessGone,
    ProcessSeen,
    SamplesSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.log_summary import ErrorGroup, LogCounts, LogHeader, LogSamples, Metric
from core.model.machine import (
    Gpu,
    GpuProcess,
    LinkState,
    MachineFacts,
    Memory,
    ProbeFound,
    ToolState,
)
from core.model.process import ProcessState
from core.model.sample import Activity, Sample, SampleCounts
from core.model.task import TaskCounts, TaskRow
from core.task_events import CausesSeen

NOW = 1_000_000.0
"""When builders' events happen, Unix seconds at the desk; hosts have the same clock."""

H1 = MachineName("h100-1")
H2 = MachineName("h100-2")


def fleet_after(*events: Event, fleet: Fleet | None = None) -> Fleet:
    """Return the fleet after these events."""
    fleet = fleet if fleet is not None else Fleet()
    for event in events:
        fleet = fold(fleet, event)
    return fleet


def judged_after(*events: Event, fleet: Fleet | None = None) -> Fleet:
    """Return the fleet after these events with its findings."""
    fleet = fleet if fleet is not None else Fleet()
    for event in events:
        fleet = advance(fleet, event)
    return fleet


def named(machine: MachineName = H1, at: float = NOW) -> MachineNamed:
    """The config names a machine."""
    return MachineNamed(at=at, machine=machine, address=f"op@{machine}", kind="asyncssh")


def link(
    state: LinkState = LinkState.UP, machine: MachineName = H1, at: float = NOW, **more: Any
) -> LinkChanged:
    """Its link came to a state."""
    return LinkChanged(at=at, machine=machine, state=state, **more)


def probe_answered(machine: MachineName = H1, at: float = NOW, **more: Any) -> ProbeAnswered:
    """Its probe answered; its clock is the desk's."""
    probe = ProbeFound(
        python="3.11", host=machine, platform="Linux", user="me", pid=9,
        clock_offset=0.0,
    )  # fmt: skip
    return ProbeAnswered(at=at, machine=machine, probe=replace(probe, **more))


def facts(machine: MachineName = H1, at: float = NOW, **more: Any) -> MachineRead:
    """A machine with two H100s, one of them held by pid 100, was read."""
    gib = 1024**3
    gpus = tuple(
        Gpu(
            index=index,
            name="NVIDIA H100 80GB HBM3",
            utilisation=use,
            memory_used=40 * gib,
            memory_total=80 * gib,
            temperature=61.0,
            power=400.0,
            power_limit=700.0,
            pids=(GpuProcess(pid=100, memory=39 * gib),) if index == 0 else (),
        )
        for index, use in enumerate((90.0, 12.0))
    )
    default = MachineFacts(
        at=at,
        cpus=64,
        load=(3.2, 2.0, 1.0),
        memory=Memory(total=512 * gib, available=300 * gib),
        gpus=gpus,
        gpu_tool="nvidia-smi",
        gpu_state=ToolState.OK,
    )
    return MachineRead(at=at, machine=machine, facts=replace(default, **more))


def process_key(machine: MachineName = H1, pid: int = 100) -> ProcessKey:
    """A process's key."""
    return ProcessKey(machine, pid, f"boot:{pid}")


def task_key(task_id: str = "t1", machine: MachineName = H1, pid: int = 100) -> TaskKey:
    """A task's key."""
    return TaskKey(process_key(machine, pid), task_id)


def process_seen(
    machine: MachineName = H1,
    pid: int = 100,
    state: ProcessState = ProcessState.LIVE,
    at: float = NOW,
    **more: Any,
) -> ProcessSeen:
    """A process is there."""
    more.setdefault("argv", ("python3", "/usr/bin/inspect", "eval", "ctf.py"))
    more.setdefault("started_at", at - 300.0)
    return ProcessSeen(at=at, process=process_key(machine, pid), state=state, **more)


def process_gone(
    machine: MachineName = H1, pid: int = 100, at: float = NOW, last_seen_at: float | None = None
) -> ProcessGone:
    """A process ended; with `last_seen_at` (0: unknown) nobody saw it end."""
    return ProcessGone(at=at, process=process_key(machine, pid), last_seen_at=last_seen_at)


def dead_eval_found(
    *logs: str, pid: int = 7, at: float = NOW, wrote_at: float = NOW - 600, **more: Any
) -> DeadEvalFound:
    """Files were found of an eval that nobody saw."""
    key = ProcessKey(H1, pid, f"files-{pid}")
    more.setdefault("started_at", wrote_at - 60)
    return DeadEvalFound(at=at, process=key, logs=logs, last_written_at=wrote_at, **more)


def task_row(  # a plain word for each thing that tests change
    task_id: str = "t1",
    *,
    task: str = "gdm_intercode_ctf",
    total: int = 100,
    done: int = 0,
    errored: int = 0,
    cancelled: int = 0,
    flying: int | None = 10,
    queued: int | None = 0,
    **more: Any,
) -> TaskRow:
    """A task row; `done` counts the completed alone."""
    more.setdefault("eval_id", f"e-{task_id}")
    more.setdefault("model", "acme/sec-agent")
    more.setdefault("log_location", f"/logs/{task_id}.eval")
    more.setdefault("total_tokens", 48_000)
    more.setdefault("http_retries", 0)
    more.setdefault("refusals", 0)
    counts = TaskCounts(
        total=total,
        completed=done,
        errored=errored,
        cancelled=cancelled,
        in_flight=flying,
        queued=queued,
    )
    return TaskRow(task_id=task_id, task=task, samples=counts, **more)


def tasks_seen(
    *rows: TaskRow, machine: MachineName = H1, pid: int = 100, at: float = NOW
) -> TasksSeen:
    """The whole task list of a process was read."""
    return TasksSeen(at=at, process=process_key(machine, pid), as_of=at, rows=rows)


def causes_seen(
    *causes: tuple[str | int, int, str], at: float = NOW, as_of: float | None = None,
    task: TaskKey | None = None,
) -> CausesSeen:  # fmt: skip
    """A process told why samples of a task errored: (sample id, epoch, cause)."""
    key = task or task_key()
    when = at if as_of is None else as_of
    return CausesSeen(at=at, task=key, eval_id=f"e-{key.task_id}", as_of=when, causes=causes)


def sample(
    sample_id: str | int = 1,
    epoch: int = 1,
    *,
    status: str = "running",
    **more: Any,
) -> Sample:
    """A sample row: a running one generates since ten seconds."""
    if status == "running":
        more.setdefault(
            "activity", Activity(type="model", started_at=NOW - 10, detail="acme/sec-agent")
        )
    if status not in {"pending", "queued"}:
        more.setdefault("started_at", NOW - 100.0)
        more.setdefault("last_activity_at", NOW - 10.0)
        more.setdefault("turn_count", 12)
        more.setdefault("message_count", 25)
        more.setdefault("total_tokens", 48_000)
    if status in {"completed", "error", "cancelled"}:
        more.setdefault("completed_at", NOW - 20.0)
    if status == "error":
        more.setdefault("has_error", True)
    return Sample(sample_id=sample_id, epoch=epoch, status=status, **more)


def counts_of(rows: Iterable[Sample]) -> SampleCounts:
    """Return how many of these rows have which status."""
    numbers = dict[str, int]()
    for row in rows:
        numbers[row.status] = numbers.get(row.status, 0) + 1
    return SampleCounts(**numbers)


def samples_seen(
    *rows: Sample,
    task: TaskKey | None = None,
    eval_id: str | None = None,
    at: float = NOW,
    whole: bool = True,
    **more: Any,
) -> SamplesSeen:
    """Sample rows of a task were read."""
    key = task if task is not None else task_key()
    more.setdefault("counts", counts_of(rows))
    more.setdefault("as_of", at)
    return SamplesSeen(
        at=at,
        task=key,
        eval_id=f"e-{key.task_id}" if eval_id is None else eval_id,
        rows=rows,
        whole=whole,
        **more,
    )


def log_read(
    status: str = "success",
    *,
    task: TaskKey | None = None,
    score: float | None = 0.42,
    at: float = NOW,
    **more: Any,
) -> LogRead:
    """A log was read: its header, and with `samples` its samples, too."""
    samples = more.pop("samples", None)
    key = task if task is not None else task_key()
    metrics = list[Metric]()
    if score is not None:
        metrics.append(Metric(scorer="includes", name="accuracy", value=score, stderr=0.05))
    more.setdefault("eval_id", f"e-{key.task_id}")
    location = f"/logs/{key.task_id}.eval"
    header = LogHeader(location=location, status=status, metrics=tuple(metrics), **more)
    return LogRead(at=at, task=key, header=header, samples=samples)


def logged(
    *,
    errors: tuple[ErrorGroup, ...] = (),
    rows: tuple[Sample, ...] = (),
    cut: int = 0,
    **counts: int,
) -> LogSamples:
    """The samples of a log with these counts."""
    return LogSamples(counts=LogCounts(**counts), errors=errors, rows=rows, cut=cut)


def fleet_of_tasks(*rows: TaskRow, **more: Any) -> Fleet:
    """Return one machine that is up with one process and these tasks; `more` is the process's."""
    return fleet_after(named(), link(), process_seen(**more), tasks_seen(*rows))


def running_fleet() -> Fleet:
    """Return one machine that is up with one process, one task and three samples."""
    return fleet_after(
        named(),
        link(),
        facts(),
        process_seen(),
        tasks_seen(task_row(done=1, errored=1, flying=1, total=3)),
        samples_seen(sample(1), sample(2, status="completed"), sample(3, status="error")),
    )
