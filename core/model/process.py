"""A process: one running `inspect eval`, `eval-set` or `flow run`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from core.ids import ProcessKey, TaskKey
from core.model.operation import Operation


class ProcessState(StrEnum):
    """The state of a process; its value is the word on the screen."""

    STARTING = "starting"
    LIVE = "live"
    BUSY = "busy"
    STARVED = "starved"
    HEADLESS = "headless"
    OPTED_OUT = "opted out"
    PARKED = "parked"
    CONTAINED = "in a container"
    GONE = "gone"


OutOfMemory = Literal["", "kernel", "group"]
"""How we know that the kernel killed a process for lack of memory: its record names the process, or
the control group of the process counted a kill; empty: it is not known to."""

Unsignalled = Literal["contained", "script"]
"""Why a process gets no signal: it is in a container, or not Inspect by its command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlace:
    """The container of a process that is listed on the host but not watched from there.

    Attributes:
        engine: `docker`, `podman` or `kubernetes`; empty if unknown.
        id: The short id of the container; empty if unknown.
        namespace: The pid namespace, as the host's kernel names it; empty if unknown.
        pid: The pid that the process has in its container; None: unknown.
    """

    engine: str = ""
    id: str = ""
    namespace: str = ""
    pid: int | None = None

    @property
    def advice(self) -> str:
        """How to watch the evals in it: a machine whose command link enters it."""
        if self.engine in {"docker", "podman"} and self.id:
            command = f'["{self.engine}", "exec", "-i", "{self.id}"]'
        else:
            command = "the command that starts a program in it"
        return (
            'To watch it, add a machine to the config with link = "command" and'
            f" command = {command}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPoll:
    """A poll of a process that waits long, because its answers cost the eval much.

    Attributes:
        wait: From an answer to the next poll, seconds.
        answer: How long the last answer took, seconds.
        task_id: The task whose samples are polled; None: it is the list of tasks.
    """

    wait: float
    answer: float
    task_id: str | None = None


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
        ended_at: When it ended at the latest, Unix seconds at the desk; None: it is not gone.
        ended_after: When it still ran for certain, Unix seconds at the desk, if nobody saw its end
            and its logs do not say when it was; None: it ended at `ended_at`.
        killed: Whether the kernel killed it for lack of memory, and how that is known.
        tasks: Its tasks in the fleet, in the order in which they were first seen.
        trouble: Why its last read failed, or which rows could not be read; None: no trouble.
        unsignalled: Why it gets no signal; None: it may get one.
        container: The container that it is in; None: it is not in a container.
        is_cut_off: Whether its control server runs, but the file of its socket was removed.
        is_stopped: Whether it does not answer because a signal stopped it (SIGSTOP, `^z`).
        slow_polls: Its polls that wait long, because of their cost.
        operations: What its samples and it have done for some seconds, by its trace file; None:
            not known.
        units: How many processes it counts as (`core.model.limits.units`).
        task_units: How many rows its tasks count as (`core.model.limits.units`).
        tasks_left_out: How many of its tasks are not kept, because they are too many.
        operations_left_out: How many of its operations are not kept, because they are too many.
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
    ended_after: float | None = None
    killed: OutOfMemory = ""
    tasks: tuple[TaskKey, ...] = ()
    trouble: str | None = None
    unsignalled: Unsignalled | None = None
    container: ContainerPlace | None = None
    is_cut_off: bool = False
    is_stopped: bool = False
    slow_polls: tuple[SlowPoll, ...] = ()
    operations: tuple[Operation, ...] | None = None
    units: int = 1
    task_units: int = 0
    tasks_left_out: int = 0
    operations_left_out: int = 0

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended."""
        return self.state is ProcessState.GONE

    @property
    def is_over(self) -> bool:
        """Whether its evals are over: it is parked, or gone."""
        return self.state is ProcessState.PARKED or self.state is ProcessState.GONE

    @property
    def sandbox_type(self) -> str:
        """The type of sandbox that its command line names; empty: it names none."""
        for at, word in enumerate(self.argv):
            name, equals, value = word.partition("=")
            if name == "--sandbox":
                chosen = value if equals else " ".join(self.argv[at + 1 : at + 2])
                return chosen.partition(":")[0]
        return ""

    @property
    def can_signal(self) -> bool:
        """Whether evalroom may interrupt or kill it."""
        return self.unsignalled is None

    @property
    def signal_refusal(self) -> str | None:
        """Return why evalroom sends no signal to it, two sentences; None: it may send one."""
        match self.unsignalled:
            case None:
                return None
            case "contained":
                place = self.container or ContainerPlace()
                return f"Process {self.key.pid} is in a container. {place.advice}"
            case "script":
                return (
                    f"Process {self.key.pid} is a script or a notebook by its command line, so"
                    " evalroom can't tell what a signal would end. Cancel its tasks, or stop it"
                    " where it was started."
                )
