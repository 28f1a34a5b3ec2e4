"""The one encoder and decoder of JSON for files and output: every strict parser can read it.

A number that JSON does not have becomes null, with its word beside it: `{"value": null,
"value_text": "nan"}`, or a list of words beside a list. Lone surrogates become the replacement
character. Integers of hundreds of digits become floats, or null where no float is so large.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
"""The words of the numbers that JSON does not have."""
_TEXT = "_text"
_ODD = re.compile(r"\\ud[89a-f]|\d{40}")
"""Finds oddities that need the slow way: a surrogate, or an integer of 40 digits."""
_BITS = 129
_DIGITS = 40
"""Most digits of a whole number that is read; `encode` writes none with more."""


def encode(value: object, *, indent: int | None = None, keeps_surrogates: bool = False) -> str:
    """Return a value as ASCII JSON; on one line without blanks without an indent.

    Args:
        value: Plain values: dicts with text as keys, lists, texts, numbers, booleans, None.
        indent: Spaces of each level; None: compact.
        keeps_surrogates: Whether lone surrogates stay: in what evalroom itself reads again, where
            they belong to keys.
    """
    whole = _same_text if keeps_surrogates else _whole_text
    try:
        text = _dumps(value, indent)
    except ValueError:  # a NaN or an infinity
        return _dumps(_clean(value, whole), indent)
    return _dumps(_clean(value, whole), indent) if _ODD.search(text) else text


def parsed(text: str) -> Any:
    """Return the value of a text that `encode` wrote, with its numbers restored.

    Raises:
        ValueError: The text is not JSON, is nested too deep, or has a number of too many digits.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a file's value
        raise ValueError("not a text")  # noqa: TRY004 - one kind of error for a bad text
    try:
        return _restored_value(json.loads(text, parse_int=_whole_number))
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def decode(text: str, kind: Any) -> Any:
    """Return the value of a type, such as a class or a union, whose JSON `encode` wrote.

    Raises:
        ValueError: As `parsed`; or the value is not of this type.
    """
    return convert(parsed(text), kind)


def convert(value: object, kind: Any) -> Any:
    """Return a plain value as a value of a type.

    Raises:
        ValueError: It does not fit.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _whole_number(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError("a number of too many digits")
    return int(digits)


def _restored_value(value: object) -> Any:
    match value:
        case dict():
            return _restored(cast("dict[str, object]", value))
        case list():
            return [_restored_value(each) for each in cast("list[object]", value)]
        case _:
            return value


def number_word(value: float) -> str | None:
    """Return the word of a number that JSON does not have: `nan`, `inf`, `-inf`; else None."""
    if math.isfinite(value):
        return None
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def _dumps(value: object, indent: int | None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators, allow_nan=False)


def _restored(fields: dict[str, object]) -> dict[str, object]:
    found = {name: _restored_value(value) for name, value in fields.items()}
    for name in fields:
        words = fields.get(f"{name}{_TEXT}")
        if words is not None and _are_words(words):
            found[name] = _with_words(found[name], words)
            del found[f"{name}{_TEXT}"]
    return found


def _are_words(words: object) -> bool:
    if isinstance(words, list):
        return all(each is None or _are_words(each) for each in cast("list[object]", words))
    return isinstance(words, str) and words in _WORDS


def _with_words(value: object, words: object) -> object:
    """Return a value with its words turned back into numbers; unchanged if they don't fit."""
    if value is None and isinstance(words, str):
        return _WORDS[words]
    if isinstance(words, list) and isinstance(value, list):
        return _items_with_words(cast("list[object]", value), cast("list[object]", words))
    return value


def _items_with_words(items: list[object], words: list[object]) -> list[object]:
    if len(items) != len(words):
        return items
    return [_with_words(each, word) for each, word in zip(items, words, strict=True)]


def _clean(value: object, whole: Callable[[str], str]) -> object:
    match value:
        case str():
            return whole(value)
        case float():
            return value if math.isfinite(value) else None
        case int():
            return value if value.bit_length() < _BITS else _float(value)
        case Mapping():
            return _clean_fields(cast("Mapping[object, object]", value), whole)
        case list() | tuple():
            return [_clean(each, whole) for each in cast("list[object]", value)]
        case _:
            return value


def _clean_fields(
    fields: Mapping[object, object], whole: Callable[[str], str]
) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in fields.items():
        key = whole(str(name))
        found[key] = _clean(value, whole)
        words = _words(value)
        if words is not None and f"{name}{_TEXT}" not in fields:
            found[f"{key}{_TEXT}"] = words
    return found


def _words(value: object) -> object:
    """Return the word of a number, or the words of a list; None: it needs none."""
    match value:
        case float():
            return number_word(value)
        case list() | tuple():
            listed = cast("list[object]", value)
            words = [_words(each) for each in listed]
            return words if any(words) else None
        case _:
            return None


def _float(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _same_text(text: str) -> str:
    return text


def _whole_text(text: str) -> str:
    """Return a text with its lone surrogates replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
