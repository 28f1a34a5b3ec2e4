"""Decoders of one sample's details: errors, events, messages, store.

Content (text of the evaluated agent) is kept only if it was asked for. Servers before API
version 6 send it unasked; then it is dropped here, also from `raw`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar, cast

from core.ctl.decode import (
    JsonObject,
    count,
    flag,
    items,
    number,
    objects,
    parse_object,
    raw_fields,
    raw_rows,
    text,
)
from core.ctl.envelopes import sample_row
from core.errors import AnswerMalformed
from core.model.sample_detail import (
    EventPage,
    MessageCall,
    Messages,
    SampleDetail,
    SampleError,
    SampleEvent,
    SampleMessage,
    Store,
    StoreEntry,
)

RowT = TypeVar("RowT")

EVENT_CONTENT = ("completion", "arguments", "result", "error", "data", "message", "input", "output")
"""Fields of an event that hold text of the agent or of a program that it ran."""


def sample_detail(body: bytes, *, content: bool) -> SampleDetail:
    """Decode `GET .../sample`.

    Raises:
        AnswerMalformed: It is not a sample.
    """
    row = parse_object(body)
    errors = items(row, "error_retries")
    raw = body
    if not content:
        kept = {**row, "error": _presence(row.get("error")), "limit_reason": None}
        if "error_retries" in row:
            kept["error_retries"] = [_presence(error) for error in errors]
        raw = encoded({name: value for name, value in kept.items() if name in row})
    return SampleDetail(
        sample=sample_row(raw),
        error=_error(row.get("error"), content=content),
        error_retries=tuple(
            found for error in errors if (found := _error(error, content=content)) is not None
        ),
        limit_reason=text(row, "limit_reason") if content else None,
    )


def _presence(error: object) -> object:
    return None if error is None else {}


def _error(error: object, *, content: bool) -> SampleError | None:
    if error is None:
        return None
    if not content:
        return SampleError()
    if isinstance(error, str):
        return SampleError(message=error)
    fields = _fields(error)
    return SampleError(message=text(fields, "message"), traceback=text(fields, "traceback"))


def event_page(body: bytes, *, content: bool) -> EventPage:
    """Decode `GET .../sample/events`.

    Raises:
        AnswerMalformed: It does not have the expected list.
    """
    fields = _envelope(body, "events")
    head = _head(fields, "next", "done")
    events, malformed = _rows(fields["events"], lambda raw: event(raw, content=content))
    return EventPage(
        events=events,
        next=text(head, "next"),
        done=flag(head, "done") is True,
        malformed=malformed,
    )


def event(raw: bytes, *, content: bool) -> SampleEvent:
    """Decode one event.

    Raises:
        AnswerMalformed: It is not an object, or has no kind.
    """
    row = parse_object(raw)
    kind = text(row, "event")
    if kind is None:
        raise AnswerMalformed("an event lacks its kind")
    return SampleEvent(
        kind=kind,
        uuid=text(row, "uuid"),
        at=_time(row, "timestamp"),
        pending=flag(row, "pending") is True,
        name=text(row, "model") or text(row, "function") or text(row, "source"),
        tokens=count(row, "tokens"),
        stop_reason=text(row, "stop_reason"),
        has_error=flag(row, "has_error") is True or row.get("error") is not None,
        content=MappingProxyType(
            {name: as_text(row[name]) for name in EVENT_CONTENT if row.get(name) is not None}
            if content
            else {}
        ),
        raw=raw if content else _without(row, raw, EVENT_CONTENT),
    )


def messages(body: bytes, *, content: bool) -> Messages:
    """Decode `GET .../sample/messages`.

    Raises:
        AnswerMalformed: It does not have the expected list.
    """
    fields = _envelope(body, "messages")
    head = _head(fields, "count")
    rows, malformed = _rows(fields["messages"], lambda raw: message(raw, content=content))
    return Messages(
        count=count(head, "count"),
        messages=rows,
        malformed=malformed,
    )


def message(raw: bytes, *, content: bool) -> SampleMessage:
    """Decode one message.

    Raises:
        AnswerMalformed: It is not an object, or has no index or role.
    """
    row = parse_object(raw)
    index, role = count(row, "index"), text(row, "role")
    if index is None or role is None:
        raise AnswerMalformed("a message lacks its index or role")
    return SampleMessage(
        index=index,
        role=role,
        calls=tuple(
            MessageCall(
                function=text(call, "function") or "",
                arguments=_optional(call, "arguments") if content else None,
            )
            for call in objects(row, "tool_calls")
        ),
        function=text(row, "function"),
        has_error=flag(row, "has_error"),
        content=_optional(row, "content") if content else None,
        error=_optional(row, "error") if content else None,
    )


def store(body: bytes, *, content: bool) -> Store:
    """Decode `GET .../sample/store`.

    Raises:
        AnswerMalformed: It does not have the expected list.
    """
    row = parse_object(body)
    listed = row.get("store")
    if not isinstance(listed, dict):
        raise AnswerMalformed("the answer has no store")
    entries = cast("JsonObject", listed)
    return Store(
        count=count(row, "count"),
        entries=tuple(_entry(key, entry, content=content) for key, entry in entries.items()),
    )


def _entry(key: str, entry: object, *, content: bool) -> StoreEntry:
    fields = _fields(entry)
    return StoreEntry(
        key=key,
        type=text(fields, "type"),
        size=count(fields, "size"),
        value=_optional(fields, "value") if content else None,
    )


# -- shared by the decoders above


def _envelope(body: bytes, listed: str) -> Mapping[str, bytes]:
    fields = raw_fields(body)
    if listed not in fields:
        raise AnswerMalformed(f"the answer has no {listed}")
    return fields


def _head(fields: Mapping[str, bytes], *names: str) -> JsonObject:
    pairs = (b'"%s":%s' % (name.encode(), fields[name]) for name in names if name in fields)
    return parse_object(b"{%s}" % b",".join(pairs))


def _rows(raw: bytes, decode: Callable[[bytes], RowT]) -> tuple[tuple[RowT, ...], tuple[str, ...]]:
    rows: list[RowT] = []
    malformed: list[str] = []
    for each in raw_rows(raw):
        try:
            rows.append(decode(each))
        except AnswerMalformed as error:
            malformed.append(error.message)
    return tuple(rows), tuple(malformed)


def _fields(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _fields_but(row: JsonObject, names: Iterable[str]) -> JsonObject:
    return {name: value for name, value in row.items() if name not in names}


def _without(row: JsonObject, raw: bytes, names: tuple[str, ...]) -> bytes:
    if all(row.get(name) is None for name in names):
        return raw
    return encoded(_fields_but(row, names))


def _optional(row: JsonObject, name: str) -> str | None:
    value = row.get(name)
    return None if value is None else as_text(value)


def as_text(value: object) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def encoded(row: JsonObject) -> bytes:
    """Return a row as JSON, as Python's `json` writes it."""
    return json.dumps(dict(row), separators=(",", ":"), default=str).encode()


_ISO = re.compile(r"\d{4}-\d\d-\d\dT")


def _time(row: Mapping[str, Any], name: str) -> float | None:
    """Return a time field as Unix seconds; with `full=true` it comes as ISO text."""
    value = text(row, name)
    return number(row, name) if value is None else unix_time(value)


def unix_time(value: str) -> float | None:
    """Return an ISO time as Unix seconds; None if it is not one."""
    if _ISO.match(value) is None:
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
