"""Reading JSON of another program: nothing is taken for granted, nothing is guessed.

A field of the wrong type counts as unknown (None). Only a document that is no JSON, or a row
without what identifies it, is an error, and it is an error of that row alone. What Python's
own JSON writes and strict readers refuse (not-a-number, lone surrogates) is read too.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from core.ctl.json_slices import split_fields, split_items
from core.errors import AnswerMalformed

JsonObject = Mapping[str, Any]

_DECODER = msgspec.json.Decoder()
_RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOTHING: JsonObject = {}
_BROKEN = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError)
_DIGITS = 40
MAX_NESTING = 100
"""Most levels of lists and objects in a document: what is read can then be written again."""
MAX_BRACKETS = 1_000_000
"""Most brackets in one that has many: 75,000 samples, as many as an answer holds, have fewer."""
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse(body: bytes | msgspec.Raw) -> object:
    """Return what the JSON `body` says.

    Raises:
        AnswerMalformed: It is no JSON, or nested too deep.
    """
    raw = bytes(body)
    _refuse_nesting(raw)
    try:
        return cast("object", _DECODER.decode(raw))
    except _BROKEN:
        return _parse_leniently(raw)


def _refuse_nesting(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= MAX_NESTING:
        return
    brackets = _TEXTS.sub(b"", body).translate(_AS_SQUARE, _NO_BRACKET)
    if len(brackets) > MAX_BRACKETS:
        raise AnswerMalformed(f"an answer of more than {MAX_BRACKETS // 2:,} lists and objects")
    for _ in range(MAX_NESTING):
        fewer = brackets.replace(b"[]", b"")  # one level of every branch
        if len(fewer) == len(brackets):
            return
        brackets = fewer
    if brackets:
        raise AnswerMalformed(f"an answer nested more than {MAX_NESTING} levels")


def _parse_leniently(body: bytes) -> object:
    try:
        value: object = json.loads(
            body.decode("utf-8", "replace"), strict=False, parse_int=_whole_number
        )
        return value if _SURROGATE.search(body) is None else _without_surrogates(value)
    except (RecursionError, ValueError) as error:
        raise AnswerMalformed(f"an answer that is no JSON: {_short(error)}") from error


def _whole_number(digits: str) -> int | None:
    # What has more digits than any count is no count; converting it would cost without bound.
    return int(digits) if len(digits) <= _DIGITS else None


def _without_surrogates(value: object) -> object:
    """Return `value` with lone halves of surrogate pairs replaced: no file takes them."""
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
        raise AnswerMalformed(f"an answer that is no object but {type(value).__name__}")
    return cast("JsonObject", value)


def raw_rows(body: bytes | msgspec.Raw) -> list[bytes]:
    """Return the JSON of each item of the list in `body`, undecoded.

    Raises:
        AnswerMalformed: It is no list.
    """
    try:
        return [bytes(raw) for raw in _RAW_LIST.decode(body)]
    except _BROKEN:
        # One row spoils the whole list for a strict reader: cut it at its commas.
        cut = split_items(bytes(body))
    if cut is None:
        raise AnswerMalformed("an answer that is no list")
    return cut


def raw_fields(body: bytes) -> Mapping[str, bytes]:
    """Return the JSON of each field of the object in `body`, undecoded.

    Raises:
        AnswerMalformed: It is no object.
    """
    try:
        return {name: bytes(raw) for name, raw in _RAW_FIELDS.decode(body).items()}
    except _BROKEN:
        cut = split_fields(body)
    if cut is None:
        raise AnswerMalformed("an answer that is no object")
    return cut


def text(row: JsonObject, name: str) -> str | None:
    """Return a text field, None where it is missing or no text."""
    value = row.get(name)
    return value if isinstance(value, str) else None


def number(row: JsonObject, name: str) -> float | None:
    """Return a finite number as float, None where it is missing or none."""
    return as_number(row.get(name))


def as_number(value: object) -> float | None:
    """Return a finite number as float, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(row: JsonObject, name: str) -> int | None:
    """Return a whole number, None where it is missing or none (or beyond 64 bits)."""
    value = row.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 1 << 63 else None


def flag(row: JsonObject, name: str) -> bool | None:
    """Return a boolean, None where it is missing or none."""
    value = row.get(name)
    return value if isinstance(value, bool) else None


def texts(row: JsonObject, name: str) -> tuple[str, ...]:
    """Return a list of texts; what is no text in it is left out."""
    return tuple(item for item in items(row, name) if isinstance(item, str))


def items(row: JsonObject, name: str) -> Sequence[object]:
    """Return a list, empty where it is missing or none."""
    value = row.get(name)
    return cast("list[object]", value) if isinstance(value, list) else ()


def objects(row: JsonObject, name: str) -> tuple[JsonObject, ...]:
    """Return a list of objects; what is no object in it is left out."""
    return tuple(cast("JsonObject", item) for item in items(row, name) if isinstance(item, dict))


def inner(row: JsonObject, name: str) -> JsonObject:
    """Return an object field, empty where it is missing or none."""
    value = row.get(name)
    return cast("JsonObject", value) if isinstance(value, dict) else _NOTHING


def _short(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:120]
