"""Recognises values that look like secrets: a spec has to name secrets instead."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import Any, cast

_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:api[_-]?key|key|token|pat|secret|secret[_-]?key|pass|passwd|password|passphrase"
    r"|pwd|credentials?|creds|authorization|auth|bearer|cookie|(?:access|private)[_-]?key(?:[_-]id)?)$",
    re.IGNORECASE,
)
_SECRET_SHAPE = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{20,}"
    r"|xox[abprs]-[A-Za-z0-9-]{10,}|A(?:KIA|SIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|r8_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}"
)
"""Keys and tokens of well-known services, wherever they stand in a value."""
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_RANDOM = re.compile(r"[A-Za-z0-9+/=]{24,}|[A-Za-z0-9_-]{32,}")
_MIN_RANDOM_BITS = 4.0
"""Bits of each character from which on a long piece of text counts as random: words have less."""
_MIN_RANDOM_DIGITS = 3
_MIN_RUN_CHARS = 8
"""Random text with a separator has no part shorter than this; a name of words has."""
_MAX_SHAPE_CHARS = 10_000
_MAX_PLACEHOLDER_CHARS = 8
"""A value up to this length is a placeholder, like "none" for a local server."""
_USER_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@\s]*:[^/@\s]*@")


def is_secret_name(name: str) -> bool:
    """Whether a variable or argument of this name usually holds a secret."""
    return _SECRET_NAME.search(name) is not None


def holds_secret(value: str) -> bool:
    """Whether a place, or a text for people, holds a password or a key of a well-known kind.

    Random text does not count here: folders, buckets and hashes have it too.
    """
    known = _USER_IN_URL.match(value) or _SECRET_SHAPE.search(value) or _KEY_BLOCK.search(value)
    return known is not None


def has_secret_shape(value: str) -> bool:
    """Whether a value looks like a key or a token, whatever its name."""
    if holds_secret(value):
        return True
    return any(_is_random(each) for each in _RANDOM.findall(value[:_MAX_SHAPE_CHARS]))


def _is_random(text: str) -> bool:
    """Whether a piece of text has letters of both cases and digits, mixed as no word has them.

    Hashes (one case) and names (few digits, words between dashes or slashes) are not random.
    """
    if sum(c.isdigit() for c in text) < _MIN_RANDOM_DIGITS:
        return False
    if not (any(c.islower() for c in text) and any(c.isupper() for c in text)):
        return False
    if any(len(word) < _MIN_RUN_CHARS for word in re.split(r"[/_-]", text)):
        return False
    counts = Counter(text)
    bits = -sum(n / len(text) * log2(n / len(text)) for n in counts.values())
    return bits >= _MIN_RANDOM_BITS


def is_secret(name: str, value: object) -> bool:
    """Whether this value, under this name, looks like a secret."""
    if not isinstance(value, str):
        return False
    if has_secret_shape(value):
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
