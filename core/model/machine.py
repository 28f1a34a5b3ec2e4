"""A machine: its link, and what the probe read of the host."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from core.ids import MachineName

LinkKind = Literal["asyncssh", "command"]

LISTED_AFTER_S = 5.0
"""Grace period after a reconnect before an unlisted process counts as gone, seconds."""


class LinkState(StrEnum):
    """The state of a link; each has its own word on the screen."""

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
    """Whether a tool over there could be read. A missing tool is a fact, not an error."""

    OK = "ok"
    ABSENT = "absent"
    FAILED = "failed"
    STUCK = "stuck"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStatus:
    """The one supervised connection to a machine.

    Attributes:
        state: Where it stands.
        since: When it came to that state, Unix seconds at the desk.
        reason: Why, in a sentence; None while up.
        advice: What the operator can do; None where there is nothing to do.
        retry_at: When it is tried again, Unix seconds at the desk; None: only when asked.
        fingerprint: Of the unknown host key, while it needs trust.
        heard_at: When anything last came over it, Unix seconds at the desk; None before.
        lost_at: When it was last up or first tried, if it is neither up nor lagging; unlike
            `since` it stays while the link goes between connecting and down.
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
    """A pid that holds memory on a GPU, bytes (None: unknown)."""

    pid: int
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU (or MIG slice). Bytes, Celsius, watts, utilisation 0-100; None is unknown."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A running container; memory in bytes."""

    id: str
    name: str = ""
    image: str = ""
    status: str = ""
    memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    """Docker of a machine. `containers` are the running ones."""

    state: ToolState = ToolState.UNKNOWN
    version: str | None = None
    error: str | None = None
    since: float | None = None
    containers: tuple[Container, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Free room where it matters: `what` is `home`, or `logs` of a log folder. Bytes."""

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
    """The Inspect that the machine's configured Python has."""

    state: ToolState = ToolState.UNKNOWN
    version: str | None = None
    python: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """One reading of a host.

    Attributes:
        at: When, Unix seconds on the host's own clock.
        load: Mean number of runnable programs over 1, 5 and 15 minutes.
        gpu_tool: `nvidia-smi` or `rocm-smi`; None where there is none.
        gpu_state: Of that tool; while stuck, `gpus` is the last good reading.
        gpu_since: Since when it is stuck, Unix seconds on the host's own clock.
    """

    at: float
    host: str = ""
    platform: str = ""
    cpus: int | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFound:
    """The probe that answers: what its `hello` said.

    Attributes:
        clock_offset: The host's clock minus the desk's, seconds, at the hello.
    """

    python: str
    host: str
    platform: str
    user: str
    pid: int
    read_only: bool
    clock_offset: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A host named in the config.

    Attributes:
        address: How it is reached, for people: `user@host:port`, `this computer`, a command.
        kind: Of its link.
        probe: None until one answered.
        facts: None until they were read.
        facts_at: When facts came, Unix seconds at the desk.
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


Machines = Mapping[MachineName, Machine]
