"""The config as frozen dataclasses; `core.config.file` reads and checks them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from core.config.judge import JudgeConfig
from core.config.notify import NotifyRule
from core.ids import MachineName
from core.model.machine import LinkKind

TaskPhase = Literal["spin-up", "ramping", "steady", "near the end", "trouble", "focused"]
"""The phase of a task; decides how often it is polled."""
AttachWay = Literal["window", "switch"]
"""Inside tmux: attach in a new window, or switch the client to the run's session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineConfig:
    """One `[[machines]]` table.

    Attributes:
        host, user, port, identity, known_hosts: None: the values in ~/.ssh/config for `name`.
        ssh_config: The file that ssh reads in place of ~/.ssh/config and the system's (`ssh -F`);
            `none`: no file. None: the usual ones.
        python: The interpreter on the machine that runs the probe and Inspect.
        data_dir: XDG_DATA_HOME of the machine's evals; None: that of the login.
        gpu_locks: The machine's folder of GPU reservations; None: the default one.
        command: For `link = "command"`: the command that starts a program on the machine;
            empty: this computer.
        read_only: Whether evalroom refuses every action on this machine.
        production: Whether every action on this machine needs a stronger confirmation.
    """

    name: MachineName
    link: LinkKind = "asyncssh"
    host: str | None = None
    user: str | None = None
    port: int | None = None
    identity: str | None = None
    known_hosts: str | None = None
    ssh_config: str | None = None
    python: str = "python3"
    data_dir: str | None = None
    gpu_locks: str | None = None
    command: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    read_only: bool = False
    production: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """Seconds between two polls of a process's task list and of a task's samples."""

    tasks: float
    samples: float


CADENCES: Mapping[TaskPhase, Cadence] = MappingProxyType(
    {
        "spin-up": Cadence(tasks=1, samples=2),
        "ramping": Cadence(tasks=2, samples=5),
        "steady": Cadence(tasks=5, samples=15),
        "near the end": Cadence(tasks=2, samples=5),
        "trouble": Cadence(tasks=1, samples=2),
        "focused": Cadence(tasks=1, samples=1),
    }
)


LOG_SCHEMES = ("s3", "gs", "gcs", "az", "abfs", "abfss")
"""The schemes of URLs at which logs of evals are read, unless the config says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConfig:
    """The `[watch]` table, and `schemes` of `[logs]`.

    Attributes:
        cadences: Seconds between polls, by phase; a poll also waits at least 100 times as long
            as the last one took.
        facts_every: Seconds between readings of a machine's facts.
        discover_every: Seconds between searches for new processes.
        keep_gone: Seconds that an ended process and its tasks stay in the fleet.
        log_schemes: Schemes of URLs at which logs of evals are read.
    """

    cadences: Mapping[TaskPhase, Cadence] = field(default_factory=lambda: CADENCES)
    facts_every: float = 10.0
    discover_every: float = 1.0
    keep_gone: float = 86_400.0
    log_schemes: tuple[str, ...] = LOG_SCHEMES


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenConfig:
    """The `[screen]` table.

    Attributes:
        ascii: Draw only ASCII characters.
        mouse: Take mouse events, instead of leaving them to the terminal.
        clipboard_limit: The longest text that `y` copies, characters; 0: none.
        bell: Ring the terminal's bell for new alarms.
        attach: Inside tmux, how to attach to a run on this computer.
    """

    theme: Literal["dark", "light"] = "dark"
    ascii: bool = False
    mouse: bool = False
    clipboard_limit: int = 74_994
    bell: bool = True
    attach: AttachWay = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    """The `[storage]` table.

    Attributes:
        limit_mib: The size limit of the history, MiB.
    """

    limit_mib: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The whole config.

    Attributes:
        path: The config file; None: no file, all defaults.
        keys: Remapped keys: action name to key.
        read_only: Whether evalroom refuses every action on every machine.
    """

    machines: tuple[MachineConfig, ...]
    path: str | None = None
    watch: WatchConfig = WatchConfig()
    screen: ScreenConfig = ScreenConfig()
    storage: StorageConfig = StorageConfig()
    judge: JudgeConfig = JudgeConfig()
    notify: tuple[NotifyRule, ...] = ()
    keys: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    read_only: bool = False

    def of_machines(self, names: Collection[str]) -> "Config":
        """Return this config with only the named machines."""
        return replace(self, machines=tuple(e for e in self.machines if e.name in names))

    @property
    def machines_to_plan(self) -> tuple[MachineConfig, ...]:
        """The machines that a spec may name.

        If all of evalroom is read-only, that is every machine: a plan is then only shown.
        """
        if not self.read_only:
            return self.machines
        return tuple(replace(each, read_only=False) for each in self.machines)
