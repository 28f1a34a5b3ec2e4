"""A run: one launch, from its spec to its logs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from core.ids import MachineName
from core.model.log_summary import ErrorGroup, LogBuffer, Metric, log_outcome


class RunState(StrEnum):
    """The state of a run; where a task can have the same state, it has the same word.

    Only a run's logs prove how it ended.
    """

    QUEUED = "queued"
    """It waits while another run of the same launch starts on its machine."""
    PREPARING = "preparing"
    """evalroom makes its folder and copies what it needs to the machine."""
    STARTING = "starting"
    """evalroom sent its start script; its process is not known yet."""
    RUNNING = "running"
    """Its process runs."""
    FINISHING = "finishing"
    """Its process is gone or parked, and its logs are not read yet."""
    SUCCESS = "success"
    """Each of its logs says success."""
    ERROR = "error"
    """It did not start, or one of its logs says error."""
    CANCELLED = "cancelled"
    """One of its logs says cancelled, and none says error: someone ended it on purpose."""
    LOST = "lost"
    """Its process is known to be gone, and its log says that it never ended."""
    UNREADABLE = "unreadable"
    """Its process is gone, and its logs can't be read; evalroom tries again."""
    ELSEWHERE = "elsewhere"
    """Its process is on another host, which shares this machine's folder of runs."""

    @classmethod
    def _missing_(cls, value: object) -> "RunState | None":
        """Read the words of older recordings and of runs that an older evalroom wrote."""
        match value:
            case "finalising":
                return cls.FINISHING
            case "done":
                return cls.SUCCESS
            case "failed":
                return cls.ERROR
            case _:
                return None


OVER = frozenset({RunState.SUCCESS, RunState.ERROR, RunState.CANCELLED, RunState.LOST})
"""States that are final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLog:
    """The header of one log of a run, read by the machine's own Inspect.

    Attributes:
        location: The path of the log on the machine.
        status: `started`, `success`, `error`, `cancelled`.
        task, model: The names in the log.
        metrics: The metrics of all scorers.
        completed_samples, total_samples: The counts in the log's results; None: unknown.
        cause: The cause of the log's own error; empty: it has none.
        errors: The errors of its samples, grouped by cause, the most frequent first.
        buffer: What its dead eval left in a buffer; None: nothing.
    """

    location: str
    status: str
    task: str = ""
    model: str = ""
    metrics: tuple[Metric, ...] = ()
    completed_samples: int | None = None
    total_samples: int | None = None
    cause: str = ""
    errors: tuple[ErrorGroup, ...] = ()
    buffer: LogBuffer | None = None

    @property
    def outcome(self) -> str:
        """How the eval ended: the status, or `cancelled` where an operator's cancel ended it."""
        return log_outcome(self.status, self.cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One launch on one machine.

    Attributes:
        id: Unique; made before the first byte is sent.
        machine: The machine that it runs on.
        at: When it was made, Unix seconds at the desk.
        operator: The operator who launched it.
        state: Its state.
        task, model: The task and the model of its spec.
        engine: How it is started: `detach`, `tmux`, `flow`, `slurm`.
        is_ours: Whether this operator launched it.
        spec: The spec as a table (`spec_writer.spec_table`): names of secrets, never values.
        directory, log_dir: Its folder and its log folder on the machine; `~/` is the home.
        command_line: The exact command of Inspect.
        commit: The commit of its repository's checkout; empty: no checkout, or not yet.
        launch: The id shared by the runs of one matrix; for a single run, its own id.
        message: Why it failed, is lost, or makes no progress, one sentence; empty: no problem.
        pid, start: Its process, as in `ProcessKey`; None: not known yet.
        started_at, ended_at: Unix seconds at the desk; None: not yet.
        logs: The headers of its logs; empty until they were read.
        output_file: The file of its output on the machine; a relative path is in its folder.
        screen: The command that prints its screen; empty: it has no screen.
        host: The name of the host that started it, as that host gives it; empty: not known.
        leftover: Its processes that outlive its eval, one sentence; empty: none.
        attach: The command that attaches to it in a terminal of the machine; empty: none.
        data_dir: The XDG_DATA_HOME that its script sets; empty: that of the login.
    """

    id: str
    machine: MachineName
    at: float
    operator: str
    state: RunState
    task: str
    model: str
    engine: str = "detach"
    is_ours: bool = True
    spec: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    directory: str = ""
    log_dir: str = ""
    command_line: str = ""
    commit: str = ""
    launch: str = ""
    message: str = ""
    pid: int | None = None
    start: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    logs: tuple[RunLog, ...] = ()
    output_file: str = ""
    screen: tuple[str, ...] = ()
    attach: tuple[str, ...] = ()
    host: str = ""
    leftover: str = ""
    data_dir: str = ""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.state in OVER

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone, though its logs may not say yet how it ended."""
        return self.is_over or self.state is RunState.UNREADABLE

    @property
    def has_failed(self) -> bool:
        """Whether it ended in an error or is lost."""
        return self.state in {RunState.ERROR, RunState.LOST}

    @property
    def has_screen(self) -> bool:
        """Whether its output is on a screen and not in a file."""
        return bool(self.screen) and not self.output_file

    @property
    def status(self) -> str:
        """The worst outcome of its logs; the word of its state if no log was read."""
        statuses = {log.outcome for log in self.logs}
        for status in ("started", "error", "cancelled", "success"):
            if status in statuses:
                return status
        return str(self.state)
