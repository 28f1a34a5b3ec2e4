"""A launch spec as frozen values; `core.launch.spec.spec_reader` reads and checks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from core.launch.engines.registry import DEFAULT_ENGINE

ANY_MACHINE = "any"
"""The machine of a spec that leaves it to the chooser."""

BUILT_IN_TASKS: Mapping[str, str] = MappingProxyType(
    {
        "evalroom/smoke": "evalroom/smoke",
        "evalroom/arithmetic": "evalroom/arithmetic",
        "simulusion/smoke": "evalroom/smoke",
        "simulusion/arithmetic": "evalroom/arithmetic",
    }
)
"""The built-in tasks by all of their names; the value is the one that their logs bear."""

BUILT_IN_TASK_ARGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"evalroom/smoke": ("samples", "pass_rate"), "evalroom/arithmetic": ()}
)
"""What the built-in tasks take."""


@dataclass(frozen=True, slots=True)
class Tolerate:
    """Errors of samples are borne up to a threshold.

    Attributes:
        threshold: Below 1 a share of the samples, else a number of them; the task fails when
            as many have failed.
    """

    threshold: float | int


OnError = Literal["stop", "continue"] | Tolerate
"""What happens when samples fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Where the code of a task comes from: a repository or a directory, not both.

    Attributes:
        repository: A git URL; None: there is none.
        ref: Branch, tag or commit; None: the repository's default branch.
        token: The name of the secret that opens a private repository.
        directory: A folder on the machine.
    """

    repository: str | None = None
    ref: str | None = None
    token: str | None = None
    directory: str | None = None


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A whole spec. Lists of tasks, models and machines are a matrix of runs.

    Attributes:
        task: `package/name`, `evalroom/smoke`, or `path.py@name`.
        model: Inspect's model strings.
        machine: Names or tags of machines, or `any`.
        on_error: Never assumed.
        args: Arguments of the task, values as JSON has them.
        retry_attempts: How often a failed task is tried again; None: as `on_error` says.
        retry_on_error: How often a failed sample is tried again.
        limit: The first so many samples, or from the one to the other, both from 1.
        token_limit: Tokens, or Inspect's formula for them as text.
        time_limit, working_limit: Seconds per sample.
        cost_limit: Dollars per sample.
        options: Any other option of `inspect eval-set`, by its name.
        base_url: The model's; None: the provider's own, or what the environment says.
        model_roles: Role to model string, to `{ model = ... }`, or to a list of these.
        gpus: How many are reserved.
        code: None: none is needed, or the task's path says where it is.
        packages: Further ones, as pip names them.
        inspect: The version of Inspect; None: the one that is there, or evalroom's own.
        python: An interpreter on the machine, or a version; None: as the machine's config says.
        env: Plain variables.
        secrets: Variables to the names of the secrets that they hold.
        inherit: `INSPECT_*` variables of the login that are not cleared.
        keep: Whether the process stays after its end.
        acp: Whether the eval is started with an ACP server.
        engine: How it is started on its machine, one of `core.launch.engines`.
        display: Inspect's display, where an engine has a terminal.
        log_dir: None: in the run's own folder.
        notes: For people.
    """

    task: tuple[str, ...]
    model: tuple[str, ...]
    machine: tuple[str, ...]
    on_error: OnError
    args: Mapping[str, Any] = field(default_factory=_nothing)
    retry_attempts: int | None = None
    retry_on_error: int | None = None
    limit: int | tuple[int, int] | None = None
    sample_ids: tuple[str | int, ...] = ()
    epochs: int | None = None
    message_limit: int | None = None
    token_limit: int | str | None = None
    time_limit: int | None = None
    working_limit: int | None = None
    turn_limit: int | None = None
    cost_limit: float | None = None
    max_samples: int | None = None
    max_tasks: int | None = None
    max_connections: int | None = None
    max_sandboxes: int | None = None
    max_subprocesses: int | None = None
    options: Mapping[str, Any] = field(default_factory=_nothing)
    base_url: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=_nothing)
    model_roles: Mapping[str, Any] = field(default_factory=_nothing)
    gpus: int = 0
    code: Code | None = None
    packages: tuple[str, ...] = ()
    inspect: str | None = None
    python: str | None = None
    env: Mapping[str, str] = field(default_factory=_nothing)
    secrets: Mapping[str, str] = field(default_factory=_nothing)
    inherit: tuple[str, ...] = ()
    engine: str = DEFAULT_ENGINE
    keep: bool = False
    acp: bool = False
    display: str | None = None
    log_dir: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=_nothing)
    notes: str | None = None
