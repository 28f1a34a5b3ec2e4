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
MAX_MARKS = 300_000
"""Items of a document that are found one by one, and strings, brackets, commas and colons of those
that are nested deep. Each takes time, and a host could send a document of nothing else."""
MAX_SKIPPED_BYTES = 2 * 1024 * 1024
"""The largest item that is skipped, or found by its brackets. A search holds the interpreter lock
until it finds something, and a host could send 30 MB of nothing."""
_OPENING, _CLOSING = b"[{", b"]}"
_AFTER_ITEM = (b",", b"]", b"}")
_BLANKS = re.compile(rb"\s*+")
_NAME = re.compile(rb'\s*+"((?:[^"\\]++|\\.)*+)"\s*+:\s*+', re.DOTALL)


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
    return _item_end(islice(_MARK.finditer(body, start, start + MAX_SKIPPED_BYTES), MAX_MARKS))


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
    """Return the JSON of each item of the list in `body`; None if it is not a complete list.

    None too: it has a great many items.
    """
    body = body.strip()
    if not body.startswith(b"["):
        return None
    ends = _Ends(body).of_list(0)
    if ends is None or ends[-1] != len(body) - 1:
        return None
    starts = [1, *(at + 1 for at in ends[:-1])]
    items = [body[start:end].strip() for start, end in zip(starts, ends, strict=True)]
    return [] if items == [b""] else items


def split_fields(body: bytes) -> Mapping[str, bytes] | None:
    """Return the JSON of each field of the object in `body`; None if it is not a complete object.

    None too: it has a great many values. If a name comes twice, its last value counts.
    """
    body = body.strip()
    if not body.startswith(b"{"):
        return None
    ends, fields, at = _Ends(body), dict[str, bytes](), 0
    while at < len(body) - 1:
        name = _NAME.match(body, at + 1)
        if name is None:
            return fields if not fields and body[1:].strip() == b"}" else None
        end = ends.of_value(name.end())
        if end is None:
            return None
        fields[name[1].decode("utf-8", "replace")] = body[name.end() : end].strip()
        if body[end : end + 1] != b",":
            return fields if body[end:] == b"}" else None
        at = end
    return None


class _Ends:
    """Finds where items and values end. It stops after a great many steps."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._steps = MAX_MARKS

    def of_list(self, at: int) -> list[int] | None:
        """Return the places of the commas of the list at `at`, then that of its bracket."""
        ends: list[int] = []
        while True:
            end = self._of_item(at + 1)
            if end is None or self._body[end : end + 1] == b"}":
                return None
            ends.append(end)
            if self._body[end : end + 1] == b"]":
                return ends
            at = end

    def of_value(self, at: int) -> int | None:
        """Return the place of the comma or bracket after a value; a list is found item by item."""
        if self._body[at : at + 1] != b"[":
            return self._of_item(at)
        ends = self.of_list(at)
        return None if ends is None else self._of_item(ends[-1] + 1)

    def _of_item(self, at: int) -> int | None:
        self._steps -= 1
        if self._steps < 0:
            return None
        found = _BLANKS.match(self._body, at)
        end = at if found is None else found.end()
        if self._body[end : end + 1] in _AFTER_ITEM:
            return end
        most = at + MAX_SKIPPED_BYTES
        item = _ITEM.match(self._body, at, most)
        if item is not None and self._body[item.end() : item.end() + 1] in _AFTER_ITEM:
            return item.end()
        return _item_end(self._counted(islice(_MARK.finditer(self._body, at, most), self._steps)))

    def _counted(self, marks: Iterator[re.Match[bytes]]) -> Iterator[re.Match[bytes]]:
        for mark in marks:
            self._steps -= 1
            yield mark
