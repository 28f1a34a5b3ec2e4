"""Cuts a JSON list or object into its items without decoding them.

For documents that the strict parser refuses because of a single item. The items themselves may
be anything, even nested 100,000 levels deep.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

# An unterminated string matches up to the end, so it is not tried again from each later quote.
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)
MAX_BYTES = 4 * 1024 * 1024
"""Size of the largest document that is cut, bytes."""
MAX_MARKS = 300_000
"""Strings, brackets, commas and colons in a document: about 2,500 samples have so many. Each
takes time, and a host could send a document of nothing else."""
_OPENING, _CLOSING = b"[{", b"]}"


def split_items(body: bytes) -> list[bytes] | None:
    """Return the JSON of each item of the list in `body`; None if it is not a complete list."""
    return _parts(body.strip(), b"[", b"]")


def split_fields(body: bytes) -> Mapping[str, bytes] | None:
    """Return the JSON of each field of the object in `body`; None if it is not a complete object.

    If a name comes twice, its last value counts.
    """
    parts = _parts(body.strip(), b"{", b"}")
    if parts is None:
        return None
    fields: dict[str, bytes] = {}
    for part in parts:
        name = _MARK.match(part)
        rest = part[name.end() :].lstrip() if name is not None else b""
        if name is None or not name[0].startswith(b'"') or not rest.startswith(b":"):
            return None
        fields[name[0][1:-1].decode("utf-8", "replace")] = rest[1:].strip()
    return fields


def _parts(body: bytes, opening: bytes, closing: bytes) -> list[bytes] | None:
    if len(body) > MAX_BYTES or not body.startswith(opening) or not body.endswith(closing):
        return None
    commas = list(_commas(body))
    if commas[-1:] != [len(body) - 1]:
        return None
    starts = [1, *(at + 1 for at in commas[:-1])]
    parts = [body[start:end].strip() for start, end in zip(starts, commas, strict=True)]
    return [] if parts == [b""] else parts


def _commas(body: bytes) -> Iterator[int]:
    """Yield the places of the commas at the outermost level, then the place of its end."""
    depth = 0
    for mark in islice(_MARK.finditer(body), MAX_MARKS):
        char = mark[0]
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
            if depth == 0:
                yield mark.start()
                return
        elif char == b"," and depth == 1:
            yield mark.start()
