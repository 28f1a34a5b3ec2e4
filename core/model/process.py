"""A process: one running `inspect eval`, `eval-set` or `flow run`."""

from dataclasses import dataclass
from enum import StrEnum

from core.ids import ProcessKey, TaskKey


class ProcessState(StrEnum):
    """The state of a process; each has its own word on the screen."""

    STARTING = "starting"
    LIVE = "live"
    BUSY = "busy"
    STARVED = "starved"
    HEADLESS = "headless"
    OPTED_OUT = "opted out"
    PARKED = "parked"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What is known of a process.

    Attributes:
        key: Machine, pid and start.
        state: As its last frames say.
        since: When it came to that state, Unix seconds at the desk.
        run_id: Of the `eval()` call that bound the control server.
        started_at: Unix seconds on the host's own clock.
        api_version: Of its control channel; None where it has none.
        data_dir: The folder that holds its discovery file.
        argv: Its command line with secrets blanked; empty where it can't be read.
        cwd: Its working folder.
        python: Its interpreter.
        waiting_since: Since when a request has no answer, Unix seconds on the host's clock.
        keep_alive: Whether it parks after its end; None until a row said so.
        paused, paused_now: Its own pause latch (soft, hard).
        paused_models: Models whose latch is set in it.
        run: The id that evalroom gave the run at its launch; None: it launched none.
        variables: Names of the variables it was started with that its resuming needs.
        can: What its Inspect can show and do (`core.ctl.features.Feature`); None: not asked yet.
        ended_at: When it was gone, Unix seconds at the desk.
        tasks: Its tasks in the fleet, in the order first seen.
        trouble: Why its last read gave no usable answer, or which rows could not be read.
    """

    key: ProcessKey
    state: ProcessState
    since: float
    run_id: str | None = None
    started_at: float | None = None
    api_version: int | None = None
    socket_path: str | None = None
    data_dir: str | None = None
    argv: tuple[str, ...] = ()
    cwd: str | None = None
    python: str | None = None
    waiting_since: float | None = None
    keep_alive: bool | None = None
    paused: bool = False
    paused_now: bool = False
    paused_models: tuple[str, ...] = ()
    run: str | None = None
    variables: tuple[str, ...] = ()
    can: frozenset[str] | None = None
    ended_at: float | None = None
    tasks: tuple[TaskKey, ...] = ()
    trouble: str | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended."""
        return self.state is ProcessState.GONE

    @property
    def is_resting(self) -> bool:
        """Whether its evals are over: it is parked, or gone."""
        return self.state is ProcessState.PARKED or self.state is ProcessState.GONE
