"""The details of one sample that are read on demand: errors, events, messages and store.

Fields of type `Untrusted` hold free text of the evaluated agent. Unless the content was asked
for, they are None and `raw` does not contain that text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.model.sample import Sample
from core.text import Untrusted

_EMPTY: Mapping[str, Untrusted] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleError:
    """One error of a sample.

    Attributes:
        message, traceback: Text of the error; None while the content is withheld.
    """

    message: Untrusted | None = None
    traceback: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDetail:
    """The answer to `GET .../sample`.

    Attributes:
        sample: The row of the sample, as in the list.
        error: The error that ended it; None if it has no error.
        error_retries: The errors of earlier tries, oldest first.
        limit_reason: The limit that ended it, in words; None: no limit did, or it is withheld.
    """

    sample: Sample
    error: SampleError | None = None
    error_retries: tuple[SampleError, ...] = ()
    limit_reason: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleEvent:
    """One event of a sample.

    Attributes:
        kind: `model`, `tool`, `error`, `score`, `info` ..., or a kind of a newer Inspect.
        uuid: The id of the event; None: it has none.
        at: Unix seconds on the eval's own clock.
        pending: Whether it was still in progress when it was read.
        name: The model, the tool's function, or the source of an info.
        tokens: Tokens of a model call.
        stop_reason: Why a model call stopped; meaningless while pending.
        has_error: Whether it failed.
        content: Text of the agent by field (`completion`, `arguments`, `result`, `error`,
            `data`); empty while it is withheld.
        raw: The event's JSON, without content unless that was asked for.
    """

    kind: str
    uuid: str | None = None
    at: float | None = None
    pending: bool = False
    name: str | None = None
    tokens: int | None = None
    stop_reason: str | None = None
    has_error: bool = False
    content: Mapping[str, Untrusted] = field(default_factory=lambda: _EMPTY)
    raw: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """The answer to `GET .../sample/events`: one page.

    Attributes:
        events: The events of the page, oldest first.
        next: The cursor after this page; None if the sample has not started.
        done: Whether the sample is over and the page reached its end.
        malformed: A sentence for each event that could not be read.
    """

    events: tuple[SampleEvent, ...] = ()
    next: str | None = None
    done: bool = False
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCall:
    """A tool call that an assistant's message requests."""

    function: str
    arguments: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleMessage:
    """One message of a sample's conversation.

    Attributes:
        index: Its place in the conversation, from 0; a compaction may change places.
        role: `system`, `user`, `assistant`, `tool`, or a role of a newer Inspect.
        calls: The tool calls that an assistant's message requests.
        function: The tool that answers, for role `tool`.
        has_error: Whether the tool failed; None for other roles.
        content: Its text; None while the content is withheld.
        error: The tool's error; None: it has none, or the content is withheld.
    """

    index: int
    role: str
    calls: tuple[MessageCall, ...] = ()
    function: str | None = None
    has_error: bool | None = None
    content: Untrusted | None = None
    error: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The answer to `GET .../sample/messages`: a snapshot.

    Attributes:
        count: Messages in the whole conversation, listed or not.
        messages: The listed messages, oldest first.
        malformed: A sentence for each message that could not be read.
    """

    count: int | None
    messages: tuple[SampleMessage, ...] = ()
    malformed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEntry:
    """One entry of a sample's store.

    Attributes:
        key: Its key. The agent may choose it, so it is untrusted too.
        type: The type of its value, in Python's words.
        size: Size of its value as JSON, bytes.
        value: A preview of its value as text; None while the content is withheld.
    """

    key: Untrusted
    type: str | None = None
    size: int | None = None
    value: Untrusted | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The answer to `GET .../sample/store`.

    Attributes:
        count: Entries in the whole store, listed or not.
        entries: The listed entries.
    """

    count: int | None
    entries: tuple[StoreEntry, ...] = ()
