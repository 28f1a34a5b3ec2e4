"""A process: one running `inspect eval`, `eval-set` or `flow run`."""

from dataclasses import dataclass
from enum import StrEnum

from core.ids import ProcessKey, TaskKey


class ProcessState(StrEnum):
    """The state of a process; its value is the word on the screen."""

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
    """One process, as far as it is known.

    Attributes:
        key: Machine, pid and start.
        state: Its state, by the newest frames.
        since: When it entered that state, Unix seconds at the desk.
        run_id: The id of the `eval()` call that started the control server.
        started_at: Unix seconds on the host's own clock.
        api_version: The version of its control channel; None: it has no control channel.
        socket_path: The path of its control socket.
        data_dir: The folder of its discovery file.
        argv: Its command line without secrets; empty if it can't be read.
        cwd: Its working folder.
        python: The path of its interpreter.
        waiting_since: Since when a request has had no answer, Unix seconds on the host's clock;
            None: no request waits.
        keep_alive: Whether it parks after its eval ends; None until a row reported it.
        paused, paused_now: Whether its own pause latch is set (soft, hard).
        paused_models: The models whose pause latch is set in it.
        run: The id of the run that evalroom launched it for; None: evalroom did not launch it.
        variables: Names of the environment variables that a command to resume it needs.
        can: The features of its Inspect (`core.model.feature.Feature`); None: not read yet.
        ended_at: When it was found gone, Unix seconds at the desk; None: it is not gone.
        tasks: Its tasks in the fleet, in the order in which they were first seen.
        trouble: Why its last read failed, or which rows could not be read; None: no trouble.
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
