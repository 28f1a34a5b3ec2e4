"""The config as frozen values. `core.config.file` reads it from TOML and says what is wrong."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from core.ids import MachineName
from core.model.machine import LinkKind

Phase = Literal["spin-up", "ramping", "steady", "near the end", "trouble", "focused"]
"""Where a task stands, for how often it is looked at."""
AttachWay = Literal["window", "switch"]
"""Inside tmux, what is attached to gets a window of its own, or takes the client's place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineConfig:
    """One `[[machines]]` table.

    Attributes:
        host, user, port, identity, known_hosts: None: as ~/.ssh/config says for `name`.
        python: The interpreter that runs the probe and Inspect there.
        data_dir: The XDG_DATA_HOME of that machine's evals; None: the login's.
        gpu_locks: The folder there in which GPUs are reserved; None: the usual one.
        command: For `link = "command"`: what starts a program there; empty: this computer.
    """

    name: MachineName
    link: LinkKind = "asyncssh"
    host: str | None = None
    user: str | None = None
    port: int | None = None
    identity: str | None = None
    known_hosts: str | None = None
    python: str = "python3"
    data_dir: str | None = None
    gpu_locks: str | None = None
    command: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    read_only: bool = False
    production: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """Seconds between two looks, at a task list and at a task's samples."""

    tasks: float
    samples: float


CADENCES: Mapping[Phase, Cadence] = MappingProxyType(
    {
        "spin-up": Cadence(tasks=1, samples=2),
        "ramping": Cadence(tasks=2, samples=5),
        "steady": Cadence(tasks=5, samples=15),
        "near the end": Cadence(tasks=2, samples=5),
        "trouble": Cadence(tasks=1, samples=2),
        "focused": Cadence(tasks=1, samples=1),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConfig:
    """The `[watch]` table.

    Attributes:
        cadences: Seconds between looks by phase; each look also waits at least 100 times as
            long as the last one took.
        facts_every: Seconds between readings of a machine's facts.
        keep_gone: Seconds that a gone process and what it held stay in the fleet.
    """

    cadences: Mapping[Phase, Cadence] = field(default_factory=lambda: CADENCES)
    facts_every: float = 10.0
    discover_every: float = 1.0
    keep_gone: float = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenConfig:
    """The `[screen]` table.

    Attributes:
        attach: Inside tmux, how a run of this computer is attached to.
    """

    theme: Literal["dark", "light"] = "dark"
    ascii: bool = False
    mouse: bool = False
    clipboard_limit: int = 74_994
    attach: AttachWay = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    """The `[storage]` table: `limit_mib` bounds the kept history."""

    limit_mib: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole config.

    Attributes:
        path: The file it came from; None: the defaults.
        keys: Remapped keys: action name to key.
    """

    machines: tuple[MachineConfig, ...]
    path: str | None = None
    watch: WatchConfig = WatchConfig()
    screen: ScreenConfig = ScreenConfig()
    storage: StorageConfig = StorageConfig()
    keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    read_only: bool = False

    def of_machines(self, names: Collection[str]) -> "Config":
        """Return the same with these machines alone."""
        return replace(self, machines=tuple(e for e in self.machines if e.name in names))
