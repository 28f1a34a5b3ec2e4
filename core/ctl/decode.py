"""Decoding of JSON that another program wrote: types are checked, values are not guessed.

A field of the wrong type counts as unknown (None). A document that is not JSON, or a row without
its id, is an error, and only of that row. Python's `json` writes NaN and lone surrogates, which
strict parsers refuse; they are accepted here.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

import msgspec

from core.ctl.json_slices import Items, first_items, split_fields, split_items
from core.errors import AnswerMalformed
from core.model.limits import MAX_ROW_BYTES

JsonObject = Mapping[str, Any]

_DECODER = msgspec.json.Decoder()
_RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOTHING: JsonObject = {}
_BROKEN = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)
_DIGITS = 40
MAX_NESTING = 100
"""Levels of lists and objects in a document. Within it, a decoded document can be encoded again."""
MAX_BRACKETS = 1_000_000
"""Brackets in one document. 75,000 samples, the most that an answer holds, have fewer."""
MAX_VALUES = 1_500_000
"""Values in one document. Each takes memory, and a host could send a document of nothing else."""
MAX_LENIENT_BYTES = 12 * 1024 * 1024
"""The largest document that is read although it is not strictly JSON."""
MAX_FAST_ITEMS = 100_000
"""A list with more commas than this is cut item by item: all its items would take much memory."""
_TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_WINDOW_BYTES = 256 * 1024
_WHOLE_TEXTS = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse(body: bytes | msgspec.Raw) -> object:
    """Return the decoded JSON of `body`.

    Raises:
        AnswerMalformed: It is not JSON, or nested too deep.
    """
    raw = bytes(body)
    _refuse_nesting(raw)
    try:
        return cast("object", _DECODER.decode(raw))
    except _BROKEN:
        return _parse_leniently(raw)


def _refuse_nesting(body: bytes) -> None:
    opening = body.count(b"[") + body.count(b"{")
    if len(body) > MAX_VALUES and body.count(b",") + opening > MAX_VALUES:
        raise AnswerMalformed(f"an answer with more than {MAX_VALUES:,} values")
    if opening <= MAX_NESTING:
        return
    brackets = b"".join(
        _TEXTS.sub(b"", window).translate(_AS_SQUARE, _NO_BRACKET) for window in _windows(body)
    )
    if len(brackets) > MAX_BRACKETS:
        raise AnswerMalformed(f"the answer has more than {MAX_BRACKETS // 2:,} lists and objects")
    for _ in range(MAX_NESTING):
        fewer = brackets.replace(b"[]", b"")  # removes the innermost level of every branch
        if len(fewer) == len(brackets):
            return
        brackets = fewer
    if brackets:
        raise AnswerMalformed(f"the answer is nested more than {MAX_NESTING} levels deep")


def _windows(body: bytes) -> Iterator[bytes]:
    """Yield `body` in pieces that cut no text; each takes a short time."""
    if len(body) <= _WINDOW_BYTES:
        yield body
        return
    at = 0
    while at < len(body):
        piece = _WHOLE_TEXTS.match(body, at, at + _WINDOW_BYTES)
        end = piece.end() if piece is not None else at
        if end == at:  # a text that is longer than a window
            text_end = _TEXTS.match(body, at)
            end = text_end.end() if text_end is not None else len(body)
        yield body[at:end]
        at = end


def _parse_leniently(body: bytes) -> object:
    if len(body) > MAX_LENIENT_BYTES:
        raise AnswerMalformed("an answer that is not JSON")
    try:
        value: object = json.loads(
            body.decode("utf-8", "replace"), strict=False, parse_int=_whole_number
        )
        return value if _SURROGATE.search(body) is None else _without_surrogates(value)
    except (RecursionError, ValueError) as error:
        raise AnswerMalformed(f"the answer is not JSON: {_short(error)}") from error


def _whole_number(digits: str) -> int | None:
    # No count has so many digits, and converting them takes time without bound.
    return int(digits) if len(digits) <= _DIGITS else None


def _without_surrogates(value: object) -> object:
    """Return `value` with lone surrogates replaced: they can't be written to a file."""
    match value:
        case str():
            if value.isascii():
                return value
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_without_surrogates(item) for item in cast("list[object]", value)]
        case dict():
            return {
                _without_surrogates(name): _without_surrogates(item)
                for name, item in cast("dict[str, object]", value).items()
            }
        case _:
            return value


def parse_object(body: bytes | msgspec.Raw) -> JsonObject:
    """Return the JSON object in `body`.

    Raises:
        AnswerMalformed: It is something else.
    """
    value = parse(body)
    if not isinstance(value, dict):
        raise AnswerMalformed(f"the answer is not an object but {type(value).__name__}")
    return cast("JsonObject", value)


def raw_rows(body: bytes | msgspec.Raw) -> list[bytes]:
    """Return the JSON of each item of the list in `body`, undecoded.

    Raises:
        AnswerMalformed: It is not a list.
    """
    try:
        return [bytes(raw) for raw in _RAW_LIST.decode(body)]
    except _BROKEN:
        # The strict parser refuses the whole list because of one row: cut it at its commas.
        cut = split_items(bytes(body))
    if cut is None:
        raise AnswerMalformed("the answer is not a list")
    return cut


def first_rows(body: bytes | msgspec.Raw, limit: int) -> Items:
    """Return the JSON of the first `limit` items of the list in `body`, undecoded.

    Items larger than `MAX_ROW_BYTES` are only counted.

    Raises:
        AnswerMalformed: It is not a list.
    """
    raw = bytes(body)
    if raw.count(b",") <= MAX_FAST_ITEMS:
        try:
            rows = _RAW_LIST.decode(raw)
        except _BROKEN:
            pass
        else:
            small = [each for each in rows if len(memoryview(each)) <= MAX_ROW_BYTES]
            first = tuple(bytes(each) for each in small[:limit])
            return Items(first, len(small) - len(first), len(rows) - len(small))
    found = first_items(raw, limit, MAX_ROW_BYTES)
    if found is None:
        raise AnswerMalformed("an answer that is not a list")
    return found


def some_raw_fields(body: bytes, names: tuple[str, ...]) -> Mapping[str, bytes]:
    """Return the JSON of these fields of the object in `body`, undecoded; others are skipped.

    Raises:
        AnswerMalformed: It is not an object.
    """
    try:
        found = _struct_decoder(names).decode(body)
    except _BROKEN:
        return raw_fields(body)
    fields = {name: bytes(getattr(found, name)) for name in names}
    return {name: raw for name, raw in fields.items() if raw}


@cache
def _struct_decoder(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    fields = [(name, msgspec.Raw, msgspec.Raw(b"")) for name in names]
    return msgspec.json.Decoder(msgspec.defstruct("Envelope", fields))


def raw_fields(body: bytes) -> Mapping[str, bytes]:
    """Return the JSON of each field of the object in `body`, undecoded.

    Raises:
        AnswerMalformed: It is not an object, or one of a great many values.
    """
    if len(body) > MAX_VALUES and body.count(b",") > MAX_VALUES:
        raise AnswerMalformed(f"an answer with more than {MAX_VALUES:,} values")
    try:
        return {name: bytes(raw) for name, raw in _RAW_FIELDS.decode(body).items()}
    except _BROKEN:
        cut = split_fields(body)
    if cut is None:
        raise AnswerMalformed("the answer is not an object")
    return cut


def text(row: JsonObject, name: str) -> str | None:
    """Return a text field; None if it is missing or not text."""
    value = row.get(name)
    return value if isinstance(value, str) else None


def number(row: JsonObject, name: str) -> float | None:
    """Return a number field as float; None if it is missing or not a finite number."""
    return as_number(row.get(name))


def as_number(value: object) -> float | None:
    """Return a number as float; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def as_measure(value: object) -> float | None:
    """Return a measured number as float, NaN and infinities too; None if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return math.nan if math.isnan(found) else found  # one NaN: it equals itself in a tuple


def count(row: JsonObject, name: str) -> int | None:
    """Return a whole number; None if it is missing, not a whole number, or beyond 64 bits."""
    value = row.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 1 << 63 else None


def flag(row: JsonObject, name: str) -> bool | None:
    """Return a boolean field; None if it is missing or not a boolean."""
    value = row.get(name)
    return value if isinstance(value, bool) else None


def texts(row: JsonObject, name: str) -> tuple[str, ...]:
    """Return the texts of a list field; other items are left out."""
    return tuple(item for item in items(row, name) if isinstance(item, str))


def without_huge_numbers(value: object) -> object:
    """Return a decoded value with None for each whole number beyond 64 bits, as `count` does."""
    match value:
        case int() if abs(value) >= 1 << 63:
            return None
        case list():
            return [without_huge_numbers(each) for each in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value)
            return {name: without_huge_numbers(each) for name, each in fields.items()}
        case _:
            return value


def items(row: JsonObject, name: str) -> Sequence[object]:
    """Return a list field; empty if it is missing or not a list."""
    value = row.get(name)
    return cast("list[object]", value) if isinstance(value, list) else ()


def objects(row: JsonObject, name: str) -> tuple[JsonObject, ...]:
    """Return the objects of a list field; other items are left out."""
    return tuple(cast("JsonObject", item) for item in items(row, name) if isinstance(item, dict))


def inner(row: JsonObject, name: str) -> JsonObject:
    """Return an object field; empty if it is missing or not an object."""
    value = row.get(name)
    return cast("JsonObject", value) if isinstance(value, dict) else _NOTHING


def _short(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:120]
