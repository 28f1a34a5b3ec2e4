"""Cuts a JSON list or object into its parts without reading them.

For documents that a strict parser refuses as a whole because of one part of them.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

# A text that never ends is taken to the end: it is then not tried again from each later quote.
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)
MAX_BYTES = 4 * 1024 * 1024
"""Longest document that is cut, bytes."""
MAX_MARKS = 300_000
"""Most texts, brackets, commas and colons in it, about those of 2,500 samples: each costs time,
and a host could make a document of nothing else."""
_OPENING, _CLOSING = b"[{", b"]}"


def split_items(body: bytes) -> list[bytes] | None:
    """Return the JSON of each item of the list in `body`, None where it is no whole list."""
    return _parts(body.strip(), b"[", b"]")


def split_fields(body: bytes) -> Mapping[str, bytes] | None:
    """Return the JSON of each field of the object in `body`, None where it is no whole object.

    Of several fields of one name the last counts.
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
    """Yield where the commas of the outermost level are, and at last its end."""
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
