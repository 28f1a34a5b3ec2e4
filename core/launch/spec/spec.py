"""A launch spec as frozen values; `core.launch.spec.spec_reader` reads and checks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from core.launch.engines.registry import DEFAULT_ENGINE

ANY_MACHINE = "any"
"""`machine = "any"`: evalroom chooses among all machines."""

BUILT_IN_TASKS: Mapping[str, str] = MappingProxyType(
    {
        "evalroom/smoke": "evalroom/smoke",
        "evalroom/arithmetic": "evalroom/arithmetic",
        "simulusion/smoke": "evalroom/smoke",
        "simulusion/arithmetic": "evalroom/arithmetic",
    }
)
"""The built-in tasks by all of their names; the value is the name in their logs."""

BUILT_IN_TASK_ARGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"evalroom/smoke": ("samples", "pass_rate"), "evalroom/arithmetic": ()}
)
"""The arguments of the built-in tasks."""


@dataclass(frozen=True, slots=True)
class Tolerate:
    """The task ends in `error` once a share or a number of its samples errored.

    Attributes:
        threshold: Below 1: a share of the samples. From 2 on: a number of samples.
    """

    threshold: float | int


OnError = Literal["stop", "continue"] | Tolerate
"""What happens when a sample errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Where a task's code is: in a repository or in a folder on the machine, not both.

    Attributes:
        repository: A git URL; None: `directory` is set.
        ref: Branch, tag or commit; None: the repository's default branch.
        token: Name of the secret with the access token of a private repository; None: no token.
        directory: A folder on the machine; None: `repository` is set.
    """

    repository: str | None = None
    ref: str | None = None
    token: str | None = None
    directory: str | None = None


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A complete spec. It makes one run for each combination of task, model and machine.

    Attributes:
        task: `package/name`, `evalroom/smoke`, or `path.py@name`; one or more.
        model: Inspect's model strings; one or more.
        machine: Names or tags of machines, or `any`; one or more.
        on_error: What happens when a sample errors; it has no default.
        args: Arguments of the task: JSON values by name.
        retry_attempts: How many times a task that ended in error is retried; None: the default
            of `on_error`.
        retry_on_error: How many times an errored sample is retried; None: never.
        limit: The number of samples, or the first and the last sample, counted from 1.
        sample_ids: Run only these samples; empty: all.
        token_limit: Tokens for each sample: a number, or Inspect's text like `500k`.
        time_limit, working_limit: Seconds for each sample.
        cost_limit: Dollars for each sample.
        options: Other options of `inspect eval-set` by name.
        base_url: URL of the model's endpoint; None: the provider's default or its variable.
        model_args: Arguments of the model: JSON values by name.
        model_roles: By role: a model string, `{ model = ... }`, or a list of these.
        gpus: How many GPUs to reserve.
        code: Where the task's code is; None: the task needs none, or its path is absolute.
        packages: More packages for uv to install, as pip names them.
        inspect: The version of Inspect; None: the machine's own, or evalroom's.
        python: An interpreter on the machine, or a version; None: the machine's from the config.
        env: Plain variables by name.
        secrets: The names of secrets by the variables that get their values.
        inherit: `INSPECT_*` variables of the login to keep; the others are cleared.
        keep: Whether the process stays alive after its eval.
        acp: Whether the eval gets an ACP server.
        engine: How the run is started: the name of an engine of `core.launch.engines`.
        display: Inspect's display; only for an engine with a terminal.
        log_dir: Where logs go; None: into the run's own folder.
        tags, metadata: Written into the logs.
        notes: Free text for people.
        author: Who wrote the spec, if not this operator; empty: this operator. It is not a key of a
            spec: it comes from the owner of the file, or from the run that is launched again.
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
    author: str = ""
