"""What is read of one sample on demand: its detail, events, messages and store.

Fields of type `Untrusted` hold free text of the evaluated agent. They are None, and absent from
`raw`, unless the content was asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.model.sample import Sample
from core.model.task import Metric
from core.text import Untrusted

_EMPTY: Mapping[str, Untrusted] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleError:
    """One error of a sample.

    Attributes:
        message, traceback: None while its content is withheld.
    """

    message: Untrusted | None = None
    traceback: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDetail:
    """`GET .../sample`.

    Attributes:
        sample: Its row, as the list has it.
        error: Why it ended; None where it has no error.
        error_retries: Errors of earlier tries, oldest first.
        limit_reason: Which limit ended it, in words.
        raw: The answer, without content unless that was asked for.
    """

    sample: Sample
    error: SampleError | None = None
    error_retries: tuple[SampleError, ...] = ()
    limit_reason: Untrusted | None = None
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleEvent:
    """One event of a sample.

    Attributes:
        kind: `model`, `tool`, `error`, `score`, `info` ..., or a newer word.
        at: Unix seconds on the eval's own clock.
        pending: Whether it was still under way when it was read.
        name: The model, the tool's function, or the source of an info.
        call_id: Of a tool call.
        stop_reason: Of a model call; means nothing while pending.
        content: What the agent wrote, by field (`completion`, `arguments`, `result`, `error`,
            `data`); empty while it is withheld.
    """

    kind: str
    uuid: str | None = None
    span_id: str | None = None
    at: float | None = None
    pending: bool = False
    name: str | None = None
    call_id: str | None = None
    tokens: int | None = None
    stop_reason: str | None = None
    has_error: bool = False
    content: Mapping[str, Untrusted] = field(default_factory=lambda: _EMPTY)
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """`GET .../sample/events`.

    Attributes:
        next: The cursor after this page; None where the sample has not started.
        done: The sample is over and the page reached its end.
        malformed: A sentence for each event that could not be read.
    """

    events: tuple[SampleEvent, ...] = ()
    next: str | None = None
    done: bool = False
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCall:
    """A tool call that an assistant's message asks for."""

    id: str
    function: str
    arguments: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMessage:
    """One message of a sample's conversation.

    Attributes:
        index: Its place; a compaction may rewrite places.
        function: The tool that answers, for role `tool`.
        has_error: None where the role has no such thing.
    """

    index: int
    role: str
    id: str | None = None
    calls: tuple[MessageCall, ...] = ()
    function: str | None = None
    has_error: bool | None = None
    content: Untrusted | None = None
    error: Untrusted | None = None
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """`GET .../sample/messages`: a snapshot.

    Attributes:
        as_of: Unix seconds on the eval's own clock.
        status: The sample's.
        count: Of the whole conversation, whatever was listed.
    """

    as_of: float | None
    status: str | None
    count: int | None
    messages: tuple[SampleMessage, ...] = ()
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEntry:
    """One key of a sample's store. The key too is the agent's.

    Attributes:
        size: Bytes of its value as JSON.
        value: A preview as text; None while it is withheld.
    """

    key: Untrusted
    type: str | None = None
    size: int | None = None
    length: int | None = None
    value: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """`GET .../sample/store`.

    Attributes:
        count: Of the whole store, whatever keys were asked for.
        missing: Keys that were asked for and are not there.
    """

    as_of: float | None
    status: str | None
    count: int | None
    entries: tuple[StoreEntry, ...] = ()
    missing: tuple[Untrusted, ...] = ()
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringPass:
    """The last scoring of a task or a sample while it runs.

    Attributes:
        running: Whether it is under way.
        as_of: When it started, Unix seconds on the eval's own clock.
        scored, failed, unscored, total: Samples so far.
        metrics: Empty while it runs, and for a single sample.
        epochs: That the metrics are reduced over.
    """

    pass_id: str | None
    eval_id: str | None
    running: bool
    as_of: float | None
    completed_only: bool
    scope: str
    scored: int = 0
    failed: int = 0
    unscored: int = 0
    total: int = 0
    metrics: tuple[Metric, ...] = ()
    epochs: int | None = None
    raw: bytes = b""
