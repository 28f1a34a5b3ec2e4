"""Cuts a JSON list or object into its items without decoding them.

For documents that the strict parser refuses because of a single item, and for lists of so many
items that they must not all become objects. The items themselves may be anything, even nested
100,000 levels deep.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from core.model.limits import MAX_COUNTED

# An unterminated string matches up to the end, so it is not tried again from each later quote.
_MARK = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{},:]', re.DOTALL)
MAX_BYTES = 4 * 1024 * 1024
"""Size of the largest document that is cut, bytes."""
MAX_MARKS = 300_000
"""Strings, brackets, commas and colons in a document: about 2,500 samples have so many. Each
takes time, and a host could send a document of nothing else."""
_OPENING, _CLOSING = b"[{", b"]}"


def _nested(levels: int) -> bytes:
    """Return the pattern of a list or object with at most so many levels below it."""
    inside = rb'[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+"'
    found = rb"[\[{](?:" + inside + rb")*+[\]}]"
    for _ in range(levels):
        found = rb"[\[{](?:" + inside + rb"|" + found + rb")*+[\]}]"
    return found


_ITEM = re.compile(
    rb"\s*+(?:" + _nested(5) + rb'|"(?:[^"\\]++|\\.)*+"|[^"\[\]{},\s]++)\s*+', re.DOTALL
)
"""Almost every item, in one match; a deeper one is walked through, bracket by bracket."""


@dataclass(frozen=True, slots=True)
class Items:
    """The first items of a list.

    Attributes:
        items: Their JSON.
        left_out: How many more there are, at least.
        too_large: How many were too large, or broken.
    """

    items: tuple[bytes, ...]
    left_out: int = 0
    too_large: int = 0


def first_items(body: bytes, limit: int, max_bytes: int) -> Items | None:
    """Return at most `limit` items of the list in `body`; None if it is not a list.

    Each step takes a short time, so that other threads can go on, and the memory it takes is
    that of the items returned. A list that is broken further on has only the items before that.

    Args:
        body: The JSON of the list.
        limit: The most items to return.
        max_bytes: The size of the largest item to return.
    """
    opening = re.match(rb"\s*+\[\s*+", body)
    if opening is None:
        return None
    at, found, left_out, too_large = opening.end(), list[bytes](), 0, 0
    while at < len(body) and body[at : at + 1] != b"]":
        if len(found) + left_out + too_large >= limit + MAX_COUNTED:
            break
        item = _ITEM.match(body, at, at + max_bytes + 1)
        end = item.end() if item is not None else _walked_end(body, at, max_bytes)
        if end is None or body[end : end + 1] not in {b",", b"]"}:
            end = _skipped_end(body, at)
            too_large += 1
            if end is None:
                break
        elif len(found) < limit:
            found.append(body[at:end].strip())
        else:
            left_out += 1
        if body[end : end + 1] == b"]":
            break
        at = end + 1
    return Items(tuple(found), left_out, too_large)


def _walked_end(body: bytes, start: int, max_bytes: int) -> int | None:
    """Return where an item ends that is nested deep; None if it is too large, or broken."""
    end = _item_end(_MARK.finditer(body, start, start + max_bytes + 1))
    return end if end is not None and end < start + max_bytes else None


def _skipped_end(body: bytes, start: int) -> int | None:
    """Return where an item ends that is too large to return; None if that takes too long."""
    return _item_end(islice(_MARK.finditer(body, start), MAX_MARKS))


def _item_end(marks: Iterator[re.Match[bytes]]) -> int | None:
    """Return the place of the comma or bracket that ends an item of a list; None: not there."""
    depth = 0
    for mark in marks:
        char = mark[0]
        if char in _OPENING:
            depth += 1
        elif char in _CLOSING or (char == b"," and not depth):
            if not depth:
                return mark.start()
            depth -= 1
    return None


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
