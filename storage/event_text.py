"""Events as JSON text in the journal, and back."""

import json
from collections.abc import Mapping
from typing import Any, cast, get_args

import msgspec

from core.errors import StorageError
from core.events import Event

_KINDS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def event_text(event: Event) -> str:
    """Return an event as ASCII JSON: lone surrogates and NaN of a host survive in it."""
    return json.dumps(msgspec.to_builtins(event, enc_hook=_plain), separators=(",", ":"))


def event_from(kind: str, text: str) -> Event:
    """Return the event that `event_text` wrote.

    Raises:
        StorageError: It is of a kind or shape that this evalroom does not know.
    """
    known = _KINDS.get(kind)
    if known is None:
        raise StorageError(f"the history holds an event of an unknown kind ({kind[:40]!r})")
    try:
        return msgspec.convert(json.loads(text), type=known, strict=False)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise StorageError(f"the history holds an unreadable {kind}") from error


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value)
        return {str(key): each for key, each in items.items()}
    return str(value)
