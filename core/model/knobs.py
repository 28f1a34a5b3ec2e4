"""The knobs of a task and its process (limits, retries, log buffer), and model throughput."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.text import Untrusted

_NONE: Mapping[str, int | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """One limit on concurrency. None means unknown, or no limit.

    Attributes:
        name: The provider, the connection or the key; empty for the task's or process's own.
        limit: The limit now.
        in_use: How much of it is used now.
        minimum, maximum: The range of an adaptive limit.
        adjustable: Whether it can be changed while the eval runs.
        tracks_adaptive: Whether it follows the limit of connections.
        override: The value that an operator set.
        launch: The value at launch.
        in_flight, pending: For the limit of tasks: tasks that run, and tasks that wait.
    """

    name: str = ""
    limit: int | None = None
    in_use: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    adjustable: bool | None = None
    tracks_adaptive: bool | None = None
    override: int | None = None
    launch: int | None = None
    in_flight: int | None = None
    pending: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferView:
    """How often samples are written to the log.

    Attributes:
        log_buffer: Samples between two writes.
        pending: Samples that wait for the next write.
        log_shared: Seconds between two syncs of running samples; None: they are not synced.
    """

    log_buffer: int | None = None
    pending: int | None = None
    log_shared: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigView:
    """The answer to `GET /tasks/K/config`, or to `GET /config` (then without the task's knobs).

    Attributes:
        max_samples, max_tasks, max_subprocesses: None if the process has no such limit.
        sandboxes, connections, keys: Named limits; `keys` is None if this Inspect does not
            report them.
        retry: Overrides of `timeout`, `attempt_timeout`, `stream_idle_timeout`, `max_retries`.
        limits: Overrides of `time_limit`, `token_limit`, `message_limit`; empty for a process.
        buffer: How often samples are written to the log; None: not reported.
        warnings: Warnings of Inspect.
    """

    max_samples: LimitView | None = None
    max_tasks: LimitView | None = None
    max_subprocesses: LimitView | None = None
    sandboxes: tuple[LimitView, ...] = ()
    connections: tuple[LimitView, ...] = ()
    keys: tuple[LimitView, ...] | None = None
    retry: Mapping[str, int | None] = field(default_factory=lambda: _NONE)
    limits: Mapping[str, int | None] = field(default_factory=lambda: _NONE)
    buffer: BufferView | None = None
    warnings: tuple[Untrusted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelThroughput:
    """The throughput of one model over a window of recent time.

    Attributes:
        model: The name of the model.
        output_tokens_per_minute, input_tokens_per_minute: Rates of tokens.
        requests_per_minute, retries_per_minute: Rates of requests.
        backoff_ratio: Share of the window spent waiting for retries, 0 to 1.
        retry_waits_active: Requests that wait for a retry now.
    """

    model: str
    output_tokens_per_minute: float | None = None
    input_tokens_per_minute: float | None = None
    requests_per_minute: float | None = None
    retries_per_minute: float | None = None
    backoff_ratio: float | None = None
    retry_waits_active: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """The answer to `GET /models/throughput`.

    Attributes:
        models: The models that the process used.
    """

    models: tuple[ModelThroughput, ...] = ()
