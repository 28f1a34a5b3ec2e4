"""A machine: the status of its link, and the facts that the probe read from the host."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from core.ids import MachineName
from core.model.limits import LeftOut
from core.model.machine_trail import MachineTrail
from core.model.model_server import ModelServer

LinkKind = Literal["asyncssh", "command"]

LISTED_AFTER_S = 5.0
"""Grace period after a reconnect before an unlisted process counts as gone, seconds."""


class LinkState(StrEnum):
    """The state of a link; its value is the word on the screen."""

    CONNECTING = "connecting"
    UP = "up"
    LAGGING = "lagging"
    DOWN = "down"
    NEEDS_TRUST = "needs trust"
    NEEDS_YOU = "needs you"
    REFUSED = "refused"

    @property
    def is_alive(self) -> bool:
        """Whether data comes over the link, if late: up or lagging."""
        return self in _ALIVE


_ALIVE = frozenset({LinkState.UP, LinkState.LAGGING})


class ToolState(StrEnum):
    """Whether a tool on the machine could be read. A missing tool is a fact, not an error."""

    OK = "ok"
    ABSENT = "absent"
    FAILED = "failed"
    STUCK = "stuck"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStatus:
    """The status of the one supervised connection to a machine.

    Attributes:
        state: Its state.
        since: When it entered that state, Unix seconds at the desk.
        reason: Why, one sentence; None while up.
        advice: What the operator can do; None if there is nothing to do.
        retry_at: Time of the next retry, Unix seconds at the desk; None: only when asked.
        fingerprint: Fingerprint of the unknown host key, while the state is needs trust.
        heard_at: When data last came over it, Unix seconds at the desk; None: never.
        lost_at: When it was last up, or first tried, Unix seconds at the desk; None while up or
            lagging. Unlike `since`, it stays while the link alternates between connecting and down.
    """

    state: LinkState
    since: float
    reason: str | None = None
    advice: str | None = None
    retry_at: float | None = None
    fingerprint: str | None = None
    heard_at: float | None = None
    lost_at: float | None = None

    @property
    def is_up(self) -> bool:
        """Whether data comes over the link in time."""
        return self.state is LinkState.UP

    @property
    def is_alive(self) -> bool:
        """Whether data comes over the link, if late: up or lagging."""
        return self.state in _ALIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process that holds memory on a GPU.

    Attributes:
        pid: Its process id.
        memory: Bytes; None: unknown.
        started_by: The pid of the eval that started it, if it is not the eval itself; None: no
            eval that the probe lists, or not known.
        name: The first words of its command line, if it belongs to no eval; empty: not known.
        user: The account that it runs as, in that case.
    """

    pid: int
    memory: int | None = None
    started_by: int | None = None
    name: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU or MIG slice. None is unknown.

    Attributes:
        index: Its number on the machine.
        uuid: The id that the driver gives it.
        name: The name of its model.
        utilisation: 0 to 100.
        memory_used, memory_total: Bytes.
        temperature: Degrees Celsius.
        power, power_limit: Watts.
        mig: The profile of a MIG slice; None: a whole GPU.
        lost: Whether the driver reports it as lost.
        pids: The processes that hold memory on it.
        blocked: Why no run may get it, by what only its machine knows, a few words to follow its
            name; None: nothing is known against it.
    """

    index: int
    uuid: str | None = None
    name: str = ""
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    temperature: float | None = None
    power: float | None = None
    power_limit: float | None = None
    mig: str | None = None
    lost: bool = False
    pids: tuple[GpuProcess, ...] = ()
    blocked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxHolder:
    """The sample that made a container, by the trace file of its eval.

    Attributes:
        pid, start: Its process, as in `ProcessKey`; `start` is empty for an eval that died before
            the probe saw it.
        task: The name of its task.
        sample_id, epoch: The sample.
        is_alive: Whether that process lives.
    """

    pid: int
    start: str
    task: str
    sample_id: str | int
    epoch: int
    is_alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlistedEval:
    """A process that may hold containers: an eval that the probe does not list.

    Attributes:
        pid: Its process id.
        name: The first words of its command line.
        user: The account that it runs as.
    """

    pid: int
    name: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenEval:
    """A process whose sandboxes evalroom does not see; its fields are those of `ProcessKey`."""

    pid: int
    start: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container that runs, or one of Inspect's that has stopped; memory in bytes.

    Attributes:
        id, name, image: As Docker has them.
        status: Docker's own words, such as `Up 2 minutes` or `Exited (137) 1 hour ago`.
        memory: What it uses; None: unknown.
        is_running: Whether it runs.
        created: When it was made, Unix seconds on the host's own clock; None: unknown.
        project: The Compose project that it belongs to; empty: none.
        holder: The sample of an eval of this machine that made it; None: not known.
    """

    id: str
    name: str = ""
    image: str = ""
    status: str = ""
    memory: int | None = None
    is_running: bool = True
    created: float | None = None
    project: str = ""
    holder: SandboxHolder | None = None

    @property
    def has_stopped(self) -> bool:
        """Whether it ran and stopped; one that was only created has not."""
        return self.status.startswith(("Exited", "Dead"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    """Docker on a machine.

    Attributes:
        state: Whether it could be read.
        version: Its version.
        error: Why it could not be read.
        since: Since when it is stuck, Unix seconds on the host's own clock.
        containers: The containers that run, and those of Inspect that have stopped; those of
            Inspect first.
        total: How many there are; more than `containers` if some were left out.
        unlisted: Some evals on the host that the probe does not list, such as those of other
            accounts and of notebooks. They may hold the containers whose holder is not known.
        unseen: Evals that made sandboxes none of which was ever listed: another engine has them.
    """

    state: ToolState = ToolState.UNKNOWN
    version: str | None = None
    error: str | None = None
    since: float | None = None
    containers: tuple[Container, ...] = ()
    total: int = 0
    unlisted: tuple[UnlistedEval, ...] = ()
    unseen: tuple[UnseenEval, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all containers are listed."""
        return self.total <= len(self.containers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Size and free space of a disk, bytes; `what` is `home`, or `logs` for a log folder."""

    path: str
    what: str
    total: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Main memory, bytes."""

    total: int | None = None
    available: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectFound:
    """The Inspect in the Python that the config names for the machine."""

    state: ToolState = ToolState.UNKNOWN
    version: str | None = None
    python: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """One reading of a host.

    Attributes:
        at: When it was taken, Unix seconds on the host's own clock.
        cpus: CPUs that the login may use: of its container, where that has a limit.
        load: Mean number of runnable threads over 1, 5 and 15 minutes.
        memory: Main memory, or the limit of its container.
        disks: The disks of the home and of log folders.
        gpus: The GPUs; while the tool is stuck, of the last good reading.
        gpu_tool: `nvidia-smi` or `rocm-smi`; None: the machine has neither.
        gpu_state: Whether that tool could be read.
        gpu_since: Since when it is stuck, Unix seconds on the host's own clock.
        gpu_error: Why it could not be read; or what it warned of, while its state is ok.
        docker: Docker on the machine.
        inspect: The Inspect of the configured Python.
        model_servers: The model servers that run there; None: not read.
        left_out: How many GPUs, containers, disks and processes on GPUs were left out, because
            they are too many.
    """

    at: float
    cpus: float | None = None
    load: tuple[float, ...] = ()
    memory: Memory = Memory()
    disks: tuple[Disk, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    gpu_tool: str | None = None
    gpu_state: ToolState = ToolState.UNKNOWN
    gpu_since: float | None = None
    gpu_error: str | None = None
    docker: Docker = Docker()
    inspect: InspectFound = InspectFound()
    model_servers: tuple[ModelServer, ...] | None = None
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFound:
    """The probe on a machine, as its `hello` describes it.

    Attributes:
        python: The version of Python that runs it.
        host, platform, user: The host's name, its operating system, and the login's user.
        pid: The probe's process id.
        clock_offset: The host's clock minus the desk's at the hello, seconds.
        boot_id: Identifies one boot of a kernel; empty if unknown.
        namespace: Its pid namespace, as that kernel names it; empty if unknown.
    """

    python: str
    host: str
    platform: str
    user: str
    pid: int
    clock_offset: float
    boot_id: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A host named in the config.

    Attributes:
        name: Its name in the config.
        address: How it is reached, for people: `user@host:port`, `this computer`, a command.
        kind: The kind of its link.
        link: The status of its link.
        tags: Tags from the config.
        read_only: Whether evalroom may only read there.
        production: Whether it is marked as a production machine.
        probe: The probe on it; None until one answered.
        facts: The newest reading of the host; None until one came.
        facts_at: When `facts` came, Unix seconds at the desk.
        left_out: How much of what it sent is not kept, because it is too much.
        sample_units: How many rows its samples count as (`core.model.limits.units`), at most.
        trail: What is remembered of its readings.
    """

    name: MachineName
    address: str
    kind: LinkKind
    link: LinkStatus
    tags: tuple[str, ...] = ()
    read_only: bool = False
    production: bool = False
    probe: ProbeFound | None = None
    facts: MachineFacts | None = None
    facts_at: float | None = None
    left_out: LeftOut = LeftOut()
    sample_units: int = 0
    trail: MachineTrail = MachineTrail()

    @property
    def is_reached(self) -> bool:
        """Whether its probe said hello and its link was not lost since."""
        return self.probe is not None and self.link.is_alive

    def lists_all(self, now: float) -> bool:
        """Whether a process that the machine has not listed by `now` is gone.

        Args:
            now: Unix seconds at the desk.
        """
        if self.probe is None or not self.link.is_up:
            return False
        return now - self.link.since > LISTED_AFTER_S
