"""What limits a task and its process, and what its models get through."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.text import Untrusted

_NONE: Mapping[str, int | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitChange:
    """One change that an adaptive limit made by itself.

    Attributes:
        at: As Inspect words it, or None.
        before, after: The limit.
    """

    at: str | None = None
    before: int | None = None
    after: int | None = None
    reason: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """One limit on how much happens at once. None is unknown, or no limit.

    Attributes:
        name: The provider, the connection or the key; empty for the task's or process's own.
        minimum, maximum: Between which an adaptive limit moves.
        adjustable: Whether it can be changed while it runs.
        tracks_adaptive: It follows the connections' limit.
        override: Set by an operator.
        launch: As launched.
        in_flight, pending: Tasks under way and waiting, for the limit of tasks.
        changes: Recent changes of an adaptive limit.
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
    changes: tuple[LimitChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferView:
    """How often samples go to the log.

    Attributes:
        log_buffer: Samples between two writes.
        pending: Samples that wait for the next one.
        log_shared: Seconds between two syncs of running samples; None: they are not shared.
    """

    log_buffer: int | None = None
    pending: int | None = None
    log_shared: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigView:
    """`GET /tasks/K/config` or `GET /config` (then without what is a task's).

    Attributes:
        max_samples, max_tasks, max_subprocesses: None where there is no such limit.
        sandboxes, connections, keys: By name; `keys` None: this Inspect does not tell them.
        retry: Overrides of `timeout`, `attempt_timeout`, `stream_idle_timeout`, `max_retries`.
        limits: Overrides of `time_limit`, `token_limit`, `message_limit`; empty for a process.
        raw: The answer as it came.
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
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelThroughput:
    """What one model got through lately, and since the process started (`total_...`).

    Attributes:
        window_seconds: Over which the rates were measured.
        backoff_ratio: Share of the window spent waiting for retries, 0 to 1.
        retry_waits_active: Requests that wait for a retry now.
        retry_wait_seconds: Since the start, all requests together.
        last_activity_at: Unix seconds on the eval's own clock.
    """

    model: str
    window_seconds: float | None = None
    output_tokens_per_second: float | None = None
    output_tokens_per_minute: float | None = None
    input_tokens_per_minute: float | None = None
    cache_read_tokens_per_minute: float | None = None
    cache_write_tokens_per_minute: float | None = None
    requests_per_minute: float | None = None
    retries_per_minute: float | None = None
    backoff_ratio: float | None = None
    retry_waits_active: int | None = None
    total_requests: int | None = None
    total_tokens: int | None = None
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_retries: Mapping[str, int | None] = field(default_factory=lambda: _NONE)
    retry_wait_seconds: float | None = None
    first_activity_at: float | None = None
    last_activity_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """`GET /models/throughput`.

    Attributes:
        as_of: Unix seconds on the eval's own clock.
    """

    as_of: float | None
    window_seconds: float | None
    models: tuple[ModelThroughput, ...] = ()
    malformed: tuple[str, ...] = ()
    raw: bytes = b""
