"""Recognises values that look like secrets: a spec has to name secrets instead."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:api[_-]?key|key|token|secret|password|passwd|credentials?|authorization)$",
    re.IGNORECASE,
)
_MAX_PLACEHOLDER_CHARS = 8
"""A value up to this length is a placeholder, like "none" for a local server."""
_USER_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@\s]*:[^/@\s]*@")


def is_secret_name(name: str) -> bool:
    """Whether a variable or argument of this name usually holds a secret."""
    return _SECRET_NAME.search(name) is not None


def is_secret(name: str, value: object) -> bool:
    """Whether this value, under this name, looks like a secret."""
    if not isinstance(value, str):
        return False
    if _USER_IN_URL.match(value):
        return True
    return is_secret_name(name) and len(value) > _MAX_PLACEHOLDER_CHARS


def secrets_within(
    value: object, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths within a JSON value whose values look like secrets."""
    if isinstance(value, Mapping):
        for key, each in cast("Mapping[str, Any]", value).items():
            yield from secrets_within(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(cast("Sequence[Any]", value)):
            yield from secrets_within(each, (*path, index))
    elif is_secret(str(path[-1]) if path else "", value):
        yield path
