"""Events: facts, past tense, frozen. The only thing that changes the fleet.

Every event has `at`, Unix seconds at the desk. Exactly one codec case (core.desk.replay) and one
fold case exist for each; a test holds that.
"""

from dataclasses import dataclass

from core.ids import MachineName, ProcessKey, SampleKey, TaskKey
from core.model.machine import LinkKind, LinkState, MachineFacts, ProbeFound
from core.model.order import Order, OrderState
from core.model.process import ProcessState
from core.model.run import Run
from core.model.sample import Sample, SampleCounts
from core.model.task import LogHeader, Metric, TaskRow


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
    """A link came to a state. Fields as in `core.model.machine.LinkStatus`."""

    at: float
    machine: MachineName
    state: LinkState
    reason: str | None = None
    advice: str | None = None
    retry_at: float | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkHeard:
    """Something came over a link (at most once a second)."""

    at: float
    machine: MachineName


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeAnswered:
    """A probe started and said hello."""

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
class ProcessSeen:
    """A process is there, in this state; also sent when its state changes.

    `run_id` ... `python`, `run` and `variables` as in `core.model.process.Process`.
    """

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessGone:
    """A process ended. Whether its tasks succeeded is for their logs to say."""

    at: float
    process: ProcessKey


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksSeen:
    """The whole task list of a process.

    Attributes:
        as_of: The host's clock just before the read, Unix seconds.
        malformed: Rows that could not be read, as sentences.
    """

    at: float
    process: ProcessKey
    as_of: float
    rows: tuple[TaskRow, ...]
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesSeen:
    """Sample rows of a task, all of them or those that changed.

    Attributes:
        eval_id: The attempt they belong to; rows of another attempt are dropped.
        as_of: The envelope's own, Unix seconds on the eval's clock.
        whole: True: rows are all there are (up to the cap); False: a delta.
        truncated: The cap dropped rows.
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
class LooksUnchanged:
    """Reads that answered the same as before: what they show is fresh.

    Attributes:
        tasks: (process, the host's clock before the read).
        samples: (task, the host's clock before the read).
    """

    at: float
    machine: MachineName
    tasks: tuple[tuple[ProcessKey, float], ...] = ()
    samples: tuple[tuple[TaskKey, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFailed:
    """A read of a process gave no usable answer; what was known stays and ages.

    Attributes:
        what: Which read (`tasks`, `samples of ...`).
        reason: Why, one sentence.
    """

    at: float
    process: ProcessKey
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """A log's header was read by that machine's own Inspect."""

    at: float
    task: TaskKey
    header: LogHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUnreadable:
    """A log's header could not be read; the task stays finishing, or is lost."""

    at: float
    task: TaskKey
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSeen:
    """The process reports a running score of a task."""

    at: float
    task: TaskKey
    metrics: tuple[Metric, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissed:
    """The operator dismissed a gone process."""

    at: float
    process: ProcessKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRevealed:
    """The operator asked for what the evaluated agent wrote in a sample. Never what it was.

    Attributes:
        eval_id: Of the attempt.
        operator: Who; the journal adds it, elsewhere it is empty.
    """

    at: float
    sample: SampleKey
    eval_id: str
    operator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed:
    """A minute went by: what ended long ago leaves the fleet.

    Attributes:
        keep_gone: Seconds that a gone process stays.
    """

    at: float
    keep_gone: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceRead:
    """What a process's Inspect can show and do was read, from its own list of routes.

    Attributes:
        can: Names of `core.ctl.features.Feature`.
    """

    at: float
    process: ProcessKey
    can: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderGiven:
    """An order is in the journal and about to leave; or a dead evalroom's was taken up."""

    at: float
    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEnded:
    """What became of an order is known, or that nobody knows yet.

    Attributes:
        order: Its id.
        message: One sentence; harmless.
    """

    at: float
    order: str
    state: OrderState
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanged:
    """A run was made, seen, or stands otherwise than before."""

    at: float
    run: Run


Event = (
    MachineNamed
    | LinkChanged
    | LinkHeard
    | ProbeAnswered
    | MachineRead
    | ProcessSeen
    | ProcessGone
    | TasksSeen
    | SamplesSeen
    | LooksUnchanged
    | ReadFailed
    | LogRead
    | LogUnreadable
    | ScoreSeen
    | Dismissed
    | ContentRevealed
    | TimePassed
    | SurfaceRead
    | OrderGiven
    | OrderEnded
    | RunChanged
)
