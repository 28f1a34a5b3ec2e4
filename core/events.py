"""Events: frozen facts in the past tense. Only an event changes the fleet.

Every event has `at`, Unix seconds on the desk's clock. Each has one case in the codec
(`core.event_codec`) and one in the fold; a test checks that.
"""

from dataclasses import dataclass

from core.finding_events import FindingsAcknowledged, FindingsMerged, FindingsMuted
from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.log_summary import LogHeader, LogSamples, Metric
from core.model.machine import LinkKind, LinkState, MachineFacts, ProbeFound
from core.model.operation import Operation
from core.model.order import Order, OrderState
from core.model.process import ContainerPlace, OutOfMemory, ProcessState, SlowPoll, Unsignalled
from core.model.run import Run
from core.model.sample import Sample, SampleCounts
from core.model.task import TaskRow
from core.task_events import CausesSeen, SpinUpTimed


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineNamed:
    """The config names a machine."""

    at: float
    machine: MachineName
    address: str
    kind: LinkKind
    tags: tuple[str, ...] = ()
    read_only: bool = False
    production: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkChanged:
    """The state of a link changed. Fields as in `core.model.machine.LinkStatus`."""

    at: float
    machine: MachineName
    state: LinkState
    reason: str | None = None
    advice: str | None = None
    retry_at: float | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkHeard:
    """Data came over a link (at most one event every 3 seconds)."""

    at: float
    machine: MachineName


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswered:
    """A probe started and sent its hello."""

    at: float
    machine: MachineName
    probe: ProbeFound


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRead:
    """The host's facts were read."""

    at: float
    machine: MachineName
    facts: MachineFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMoved:
    """The clock of a machine, or of the desk, was set while the link was up.

    Attributes:
        offset: The host's clock minus the desk's, seconds.
    """

    at: float
    machine: MachineName
    offset: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSeen:
    """A process was first seen, or changed. Fields as in `core.model.process.Process`."""

    at: float
    process: ProcessKey
    state: ProcessState
    run_id: str | None = None
    started_at: float | None = None
    api_version: int | None = None
    socket_path: str | None = None
    data_dir: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str | None = None
    python: str | None = None
    run: str | None = None
    variables: tuple[str, ...] = ()
    waiting_since: float | None = None
    unsignalled: Unsignalled | None = None
    container: ContainerPlace | None = None
    is_cut_off: bool = False
    is_stopped: bool = False
    slow_polls: tuple[SlowPoll, ...] = ()
    units: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessesCut:
    """A machine listed more processes than evalroom keeps, or no longer does.

    Attributes:
        left_out: How many were left out, at least; 0: none.
    """

    at: float
    machine: MachineName
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGone:
    """A process ended. Its logs, not this event, say whether its tasks succeeded.

    Attributes:
        at: When its end was noticed, Unix seconds on the desk's clock.
        last_seen_at: When its machine last listed it, Unix seconds on the desk's clock; 0: not
            known. None: its probe saw it end.
        killed: Whether the kernel killed it for lack of memory, and how that is known.
    """

    at: float
    process: ProcessKey
    last_seen_at: float | None = None
    killed: OutOfMemory = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadEvalFound:
    """Files of an eval were found that nobody could watch: they name its logs.

    It died while no probe saw it, or it ended without a control server.

    Attributes:
        process: Its key; without a probe that saw it, `start` is not that of the kernel.
        logs: The paths of its logs.
        last_written_at: When it last wrote a file, Unix seconds on the host's clock.
        started_at: When it started, Unix seconds on the host's clock; None: unknown.
    """

    at: float
    process: ProcessKey
    logs: tuple[str, ...]
    last_written_at: float
    started_at: float | None = None
    run_id: str | None = None
    data_dir: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksSeen:
    """The whole task list of a process was read.

    Attributes:
        as_of: Time just before the read, Unix seconds on the host's clock.
        rows: All its task rows, up to the limit.
        malformed: A sentence for each row that could not be read.
        left_out: How many rows were not read because there are too many, at least.
    """

    at: float
    process: ProcessKey
    as_of: float
    rows: tuple[TaskRow, ...]
    malformed: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesSeen:
    """Sample rows of a task were read: all of them, or only those that changed.

    Attributes:
        eval_id: The attempt that they belong to; the fold drops rows of another attempt.
        as_of: Time of the answer, Unix seconds on the eval's clock.
        counts: Samples of the whole task by status.
        rows: The listed samples.
        whole: Whether `rows` are all rows up to the server's cap; False: only changed rows.
        truncated: Whether the server's cap left rows out.
        malformed: A sentence for each row that could not be read.
    """

    at: float
    task: TaskKey
    eval_id: str
    as_of: float
    counts: SampleCounts
    rows: tuple[Sample, ...]
    whole: bool
    truncated: bool = False
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadsUnchanged:
    """Reads gave the same answers as before, so the rows that are shown are fresh.

    Attributes:
        tasks: (process, time just before the read, Unix seconds on the host's clock).
        samples: (task, time just before the read, Unix seconds on the host's clock).
    """

    at: float
    machine: MachineName
    tasks: tuple[tuple[ProcessKey, float], ...] = ()
    samples: tuple[tuple[TaskKey, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFailed:
    """A read of a process failed; the rows that are known stay and grow older.

    Attributes:
        what: The read (`tasks`, `samples of ...`).
        reason: Why it failed, one sentence.
    """

    at: float
    process: ProcessKey
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationsSeen:
    """The trace file of a process was read: all operations that have lasted for some seconds.

    Attributes:
        left_out: How many more there are, beyond the limit of a process.
    """

    at: float
    process: ProcessKey
    operations: tuple[Operation, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """The machine's own Inspect read a log.

    Attributes:
        task: The task that wrote it.
        header: Its header.
        samples: Its samples; None: they could not be read.
        trouble: Why they could not be read, one harmless sentence; empty: they were.
    """

    at: float
    task: TaskKey
    header: LogHeader
    samples: LogSamples | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUnreadable:
    """A log could not be read; it proves nothing, and is tried again."""

    at: float
    task: TaskKey
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSeen:
    """A process reported a running score of a task."""

    at: float
    task: TaskKey
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissed:
    """The operator removed a gone process from the screen."""

    at: float
    process: ProcessKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRevealed:
    """The operator opened the agent's text of a sample. The text itself is not in the event.

    Attributes:
        eval_id: The attempt of the sample.
        operator: The operator's name; empty except in the journal, which adds it.
    """

    at: float
    sample: SampleKey
    eval_id: str
    operator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """A minute went by; processes that ended long ago leave the fleet.

    Attributes:
        keep_gone: Seconds that a gone process stays in the fleet.
    """

    at: float
    keep_gone: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRead:
    """The features of a process were read from its own list of routes.

    Attributes:
        can: The features (`core.model.feature.Feature`).
    """

    at: float
    process: ProcessKey
    can: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderGiven:
    """An order is in the journal and will be sent, or was taken over from a dead instance."""

    at: float
    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEnded:
    """An order has an outcome; the outcome may be `unknown`.

    Attributes:
        order: The id of the order.
        state: Its state now.
        message: The outcome in one sentence; harmless.
    """

    at: float
    order: str
    state: OrderState
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged:
    """A run was made, was seen for the first time, or changed."""

    at: float
    run: Run


Event = (
    MachineNamed
    | LinkChanged
    | LinkHeard
    | ProbeAnswered
    | ClockMoved
    | MachineRead
    | ProcessSeen
    | ProcessesCut
    | ProcessGone
    | DeadEvalFound
    | TasksSeen
    | SamplesSeen
    | ReadsUnchanged
    | ReadFailed
    | OperationsSeen
    | LogRead
    | LogUnreadable
    | ScoreSeen
    | CausesSeen
    | SpinUpTimed
    | Dismissed
    | FindingsAcknowledged
    | FindingsMerged
    | FindingsMuted
    | ContentRevealed
    | TimePassed
    | SurfaceRead
    | OrderGiven
    | OrderEnded
    | RunChanged
)
