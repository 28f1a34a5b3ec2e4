"""Frames: one message between desk and probe, in either direction.

The contract is docs/frames.md. The types and the splitter are pure and live in the core, since
the observer reads frames and a recording holds what came of them; `ssh` moves the bytes.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakSet

import msgspec

from core.errors import BrokenFrame

VERSION = 1
MAX_HEAD = 64 * 1024
"""Longest head line, bytes."""
MAX_PART = 1024 * 1024
"""Longest body of one frame, bytes; a longer answer comes in parts."""
MAX_ANSWER = 32 * 1024 * 1024
"""Longest answer, bytes, all its parts together."""
MAX_PARTS = MAX_ANSWER // MAX_PART + 1
"""Most parts of one answer."""
MAX_HELD = 2 * MAX_ANSWER
"""Most bytes of incomplete answers, of all machines together."""
MAX_STREAMS = 64
"""Most answers that come in parts at a time; at most 32 are outstanding."""
HEAD_WEIGHT = 40
"""Most bytes of memory that one byte of a head takes once it is decoded: it may be all brackets."""
_DIGITS = 40
"""Longest whole number in a head; a longer one is not a count and does not fit a float."""
_TOO_MANY = re.compile(rb"\d{%d}" % (_DIGITS + 1))
_DECODER = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole message: its head without `v` and `body`, and its body.

    Attributes:
        kind: What it is, one of the kinds of docs/frames.md.
        head: The other fields of the head.
        body: The answer untouched; parts are already joined.
        head_size: Bytes of the head as it came; 0: the frame did not come over a link.
    """

    kind: str
    head: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: bytes = b""
    head_size: int = field(default=0, compare=False)

    @property
    def weight(self) -> int:
        """About how much memory it takes at most, bytes."""
        return len(self.body) + HEAD_WEIGHT * self.head_size


def encode(frame: Frame) -> bytes:
    """Return the bytes of `frame` (desk to probe: bodies are small and never in parts).

    Raises:
        BrokenFrame: The head would be longer than the other side accepts.
    """
    head = {"v": VERSION, "kind": frame.kind, **frame.head, "body": len(frame.body)}
    line = json.dumps(head, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_HEAD:
        raise BrokenFrame(f"a head of {len(line)} bytes")
    return line + frame.body


class Splitter:
    """Cuts a byte stream into frames, whatever the pieces it comes in.

    Parts of one answer are joined here. It never skips a broken frame: once it raised, the
    session is over.

    Args:
        parts: Bounds what this and the splitters of other machines hold of incomplete answers.
    """

    def __init__(self, parts: "PartsBudget | None" = None) -> None:
        self._budget = parts or PartsBudget()
        self._is_over = False
        self._held = bytearray()
        self._head: dict[str, Any] | None = None
        self._head_size = self._wanted = 0
        self._parts: dict[object, list[bytes]] = {}
        self._parts_size = 0
        """Bytes of `_parts`."""

    @property
    def parts_size(self) -> int:
        """How much of incomplete answers it holds, bytes."""
        return self._parts_size

    def give_up(self) -> None:
        """Drop the incomplete answers; the session is over with its next bytes."""
        self._parts.clear()
        self._parts_size, self._is_over = 0, True

    @property
    def is_between_frames(self) -> bool:
        """Whether the stream may end here without having cut a frame."""
        return not self._held and self._head is None and not self._parts

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that `data` completes.

        Raises:
            BrokenFrame: The bytes are not a frame of this version, or larger than allowed.
        """
        self._held += data
        while True:
            if self._is_over:
                raise BrokenFrame("more incomplete answers than evalroom holds")
            if self._head is None:
                end = self._held.find(b"\n")
                if end < 0:
                    if len(self._held) > MAX_HEAD:
                        raise BrokenFrame("a head line without an end")
                    return
                self._head, self._wanted = _read_head(bytes(self._held[:end]))
                self._head_size = end
                del self._held[: end + 1]
            if len(self._held) < self._wanted:
                return
            body = bytes(self._held[: self._wanted])
            del self._held[: self._wanted]
            head, self._head = self._head, None
            whole = self._join(head, body)
            if whole is not None:
                yield whole

    def _join(self, head: dict[str, Any], body: bytes) -> Frame | None:
        kind = head.pop("kind")
        part, parts, stream = (
            head.pop("part", None),
            head.pop("parts", 1),
            head.pop("stream", None),
        )
        if part is None:
            return Frame(kind, head, body, self._head_size)
        held = self._parts.setdefault(stream, [])
        if len(held) != part:
            raise BrokenFrame("an answer with a part missing")
        held.append(body)
        self._parts_size += len(body)
        if len(self._parts) > MAX_STREAMS:
            raise BrokenFrame("more answers in parts than were asked for")
        if len(held) > MAX_PARTS or self._parts_size > MAX_HELD:
            raise BrokenFrame("an answer in parts over the limit")
        if part + 1 < parts:
            self._budget.check(self)
            return None
        whole = b"".join(self._parts.pop(stream))
        self._parts_size -= len(whole)
        return Frame(kind, head, whole, self._head_size)


class PartsBudget:
    """Bounds the incomplete answers that the splitters of all machines hold together.

    Where they hold more, the one that holds most gives up: a machine that begins large answers
    and never ends them loses its own link.

    Args:
        most: Bytes.
    """

    def __init__(self, most: int = MAX_HELD) -> None:
        self._most = most
        self._splitters = WeakSet[Splitter]()

    def check(self, splitter: Splitter) -> None:
        """Take a splitter in that holds more now, and make the largest one give up if needed."""
        self._splitters.add(splitter)
        sizes = {each: each.parts_size for each in self._splitters}
        while sum(sizes.values()) > self._most:
            largest = max(sizes, key=lambda each: sizes[each])
            largest.give_up()
            sizes[largest] = 0


def _parsed(line: bytes) -> object:
    if _TOO_MANY.search(line) is None:
        with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
            return cast("object", _DECODER.decode(line))
    # It is strict; what Python's own JSON writes beyond that is read by Python's own.
    return json.loads(line, parse_int=_whole_number)


def _whole_number(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number of too many digits")
    return int(digits)


def _read_head(line: bytes) -> tuple[dict[str, Any], int]:
    try:
        parsed: object = _parsed(line)
    except (ValueError, RecursionError) as error:
        raise BrokenFrame(f"a head that is not JSON ({len(line)} bytes)") from error
    if not isinstance(parsed, dict) or len(line) > MAX_HEAD:
        raise BrokenFrame("a head that is not an object, or too long")
    head = cast("dict[str, Any]", parsed)
    if head.pop("v", None) != VERSION or not isinstance(head.get("kind"), str):
        raise BrokenFrame("a head of another version, or without a kind")
    size = head.pop("body", None)
    part, parts = head.get("part", 0), head.get("parts", 1)
    if not (isinstance(size, int) and 0 <= size <= MAX_PART):
        raise BrokenFrame("a body of a size that is not allowed")
    if not (isinstance(part, int) and isinstance(parts, int) and 0 <= part < parts):
        raise BrokenFrame("parts that do not add up")
    if not isinstance(head.get("stream"), int | None):
        raise BrokenFrame("a stream that is not a number")
    return head, size
