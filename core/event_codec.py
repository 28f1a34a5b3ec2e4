"""Events as lines of JSON: for recordings and for the journal.

Hosts send NaN, infinities and lone surrogates: `core.strict_json` writes them so that every
parser reads the line.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast, get_args

import msgspec

from core.events import Event
from core.strict_json import convert, encode, parsed

VERSION = 1
"""Version of the lines; lines of another version are refused."""

EVENTS: Mapping[str, type[Event]] = MappingProxyType(
    {each.__name__: each for each in cast("tuple[type[Event], ...]", get_args(Event))}
)
"""Every class of event by its name in a line."""

_OLDER_NAMES = {"LooksUnchanged": "ReadsUnchanged"}
"""Names of events in older recordings, each with its name today."""


def line_of(event: Event) -> str:
    """Return an event as one line, with the line end."""
    fields = msgspec.to_builtins(event, enc_hook=plain_mapping)
    line = {"v": VERSION, "event": type(event).__name__, **fields}
    return encode(line, keeps_surrogates=True) + "\n"


def event_of(line: str) -> Event:
    """Return the event of a line.

    Raises:
        ValueError: The line is not JSON, of another version, of an unknown kind, or incomplete.
    """
    fields: Any = parsed(line)
    if not isinstance(fields, dict):
        raise ValueError("not an object")  # noqa: TRY004 - one kind of error for a bad line
    known = cast("dict[str, Any]", fields)
    if known.pop("v", None) != VERSION:
        raise ValueError("written by another version")
    name = str(known.pop("event", None))
    kind = EVENTS.get(_OLDER_NAMES.get(name, name))
    if kind is None:
        raise ValueError("an unknown kind of event")
    run = known.get("run")
    if isinstance(run, dict) and "said" in run:  # the name of its message in older recordings
        older = cast("dict[str, Any]", run)
        older.setdefault("message", older.pop("said"))
    return cast("Event", convert(known, kind))


def plain_mapping(value: object) -> object:
    """Return a mapping as a dict: the `enc_hook` of `msgspec.to_builtins` for frozen mappings.

    Raises:
        TypeError: It is not a mapping.
    """
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    raise TypeError(f"a {type(value).__name__} can't be written")
