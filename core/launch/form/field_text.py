"""Converts the text of a form field into the value of its key in a spec, and back.

A field holds one line, and plain words need no quotes: `samples = 10, level = hard` is a table,
`inspect-evals, openai` is a list. Back to text, ambiguous words get double quotes, so that a
spec passes through the form unchanged.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from core.launch.spec.spec_reader import parse_typed
from core.launch.spec.spec_writer import value_text
from core.text import shown

FieldKind = Literal[
    "words", "value", "one or many", "list of words", "list of values", "table", "table of words",
    "named", "code", "on_error",
]  # fmt: skip
"""How a field is read. Words are plain text; a value is TOML, or else plain text."""

_QUOTES = "\"'"
_OPENS, _CLOSES = "[{", "]}"
_TOLERATE = "tolerate"


class FieldUnreadable(Exception):
    """The text of a field can't be read.

    Attributes:
        why: What is wrong, harmless to show.
        takes: How to write the field.
    """

    def __init__(self, why: str, takes: str) -> None:
        super().__init__(why)
        self.why = why
        self.takes = takes


def field_value(kind: FieldKind, typed: str) -> Any:
    """Return the value of a field that is not blank, in the types of a spec file.

    Raises:
        FieldUnreadable: The text is not a list or table as the field needs it.
    """
    return _CODECS[kind].read(typed.strip())


def field_line(kind: FieldKind, value: Any) -> str:
    """Return the line that `field_value` reads as this value, or a similar one if none does."""
    return _CODECS[kind].write(value)


def split_items(typed: str) -> list[str]:
    """Split text at the commas outside of quotes and brackets."""
    return [item for part in _parts(typed) if (item := part.strip())]


def _parts(typed: str) -> Iterator[str]:
    begin, depth, quote, is_escaped, before = 0, 0, "", False, ","
    for at, char in enumerate(typed):
        if quote:
            is_end = char == quote and not is_escaped
            is_escaped = char == "\\" and quote == '"' and not is_escaped
            quote = "" if is_end else quote
        elif char in _QUOTES and before in ",=[{:":
            quote = char
        elif char in _OPENS:
            depth += 1
        elif char in _CLOSES:
            depth = max(depth - 1, 0)
        elif char == "," and not depth:
            yield typed[begin:at]
            begin = at + 1
        before = before if char.isspace() else char
    yield typed[begin:]


# One piece


def _word(typed: str) -> str:
    """Return plain text unchanged; text in double quotes is unescaped like TOML."""
    if len(typed) > 1 and typed[0] == typed[-1] == '"':
        value = parse_typed(typed)
        return value if isinstance(value, str) else typed
    return typed


def _word_text(value: Any) -> str:
    text = value if isinstance(value, str) else _value_text(value)
    is_as_it_stands = text == text.strip() and text.isprintable() and not text.startswith('"')
    return text if is_as_it_stands and text else value_text(text)


def _item_text(value: Any) -> str:
    """Return a word as an item of a list."""
    text = _word_text(value)
    return text if text.startswith('"') or _stands_among_others(text) else value_text(text)


def _stands_among_others(text: str) -> bool:
    """Whether text stays one item of a list without quotes."""
    return text[:1] not in _OPENS and split_items(f"x, {text}, x") == ["x", text, "x"]


def _value(typed: str) -> Any:
    if typed == "null":
        return None
    value = parse_typed(typed)
    if isinstance(value, str) and value == typed and typed[:1] in {"[", "{"}:
        try:
            return json.loads(typed)
        except (ValueError, RecursionError):
            return typed
    return value


def _value_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        is_plain = _value(value) == value and _stands_among_others(value)
        return value if is_plain and value.isprintable() and "=" not in value else value_text(value)
    try:
        return value_text(value)
    except ValueError:  # it contains null, which only JSON has
        return json.dumps(value, ensure_ascii=False)


# Several


def _one_or_many(typed: str) -> Any:
    items = [_word(each) for each in split_items(_within(typed, "[]"))]
    return items[0] if len(items) == 1 else items


def _one_or_many_text(value: Any) -> str:
    many = cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]
    return ", ".join(_item_text(each) for each in many)


def _listed(of: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda typed: [of(each) for each in split_items(_within(typed, "[]"))]


def _listed_text(of: Callable[[Any], str]) -> Callable[[Any], str]:
    def text(value: Any) -> str:
        if not isinstance(value, list | tuple):
            return of(value)
        return ", ".join(of(each) for each in cast("Sequence[Any]", value))

    return text


def _within(typed: str, pair: str) -> str:
    """Return text without the pair of brackets around it, if there is one."""
    has_pair = typed[:1] == pair[0] and typed[-1:] == pair[1] and len(split_items(typed)) == 1
    return typed[1:-1] if has_pair else typed


_PAIR = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^=]*?)\s*=(.*)', re.DOTALL)


def _pair(item: str) -> tuple[str, bool, str]:
    """Split at the first `=` outside of quotes: name, whether there was one, and value."""
    found = _PAIR.fullmatch(item)
    return (item, False, "") if found is None else (found[1], True, found[2].strip())


def _table(of: Callable[[str], Any]) -> Callable[[str], dict[str, Any]]:
    def read(typed: str) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for item in split_items(_within(typed, "{}")):
            key, is_pair, value = _pair(item)
            name = _word(key)
            if not is_pair or not name:
                # Without the typed text: it may be a secret value.
                raise FieldUnreadable("one part is not name = value", "name = value, other = value")
            if name in out:
                raise FieldUnreadable(f"{shown(name, 60)} appears twice", "each name once")
            out[name] = of(value)
        return out

    return read


def _table_text(of: Callable[[Any], str]) -> Callable[[Any], str]:
    def text(value: Any) -> str:
        if not isinstance(value, Mapping):
            return _word_text(value)
        held = cast("Mapping[str, Any]", value)
        return ", ".join(f"{_key_text(key)} = {of(each)}" for key, each in held.items())

    return text


def _key_text(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else value_text(key)


# Single keys


def _named(typed: str) -> Any:
    """Read secrets: variables, or `VARIABLE = name of its secret`."""
    out: dict[str, Any] = {}
    for item in split_items(_within(typed, "[]")):
        key, is_pair, value = _pair(item)
        variable = _word(key)
        out[variable] = _word(value) if is_pair else variable
    return out


def _named_text(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _listed_text(_item_text)(value)
    held = cast("Mapping[str, Any]", value)
    return ", ".join(
        _item_text(key) if key == each else f"{_key_text(key)} = {_item_text(each)}"
        for key, each in held.items()
    )


def _code(typed: str) -> Any:
    key, is_pair, _ = typed.strip("{ ").partition("=")
    return _table(_word)(typed) if is_pair and key.strip().isidentifier() else _word(typed)


def _on_error(typed: str) -> Any:
    words = typed.strip("{} ")
    if words.startswith(_TOLERATE):
        threshold = words.removeprefix(_TOLERATE).strip(" =")
        return {_TOLERATE: _value(threshold) if threshold else ""}
    return _word(typed)


def _on_error_text(value: Any) -> str:
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        if tuple(held) == (_TOLERATE,):
            return f"{_TOLERATE} {_value_text(held[_TOLERATE])}"
    return _word_text(value) if isinstance(value, str) else _value_text(value)


@dataclass(frozen=True, slots=True)
class _Codec:
    read: Callable[[str], Any]
    write: Callable[[Any], str]


_CODECS: Mapping[FieldKind, _Codec] = {
    "words": _Codec(_word, _word_text),
    "value": _Codec(_value, _value_text),
    "one or many": _Codec(_one_or_many, _one_or_many_text),
    "list of words": _Codec(_listed(_word), _listed_text(_item_text)),
    "list of values": _Codec(_listed(_value), _listed_text(_value_text)),
    "table": _Codec(_table(_value), _table_text(_value_text)),
    "table of words": _Codec(_table(_word), _table_text(_item_text)),
    "named": _Codec(_named, _named_text),
    "code": _Codec(_code, _table_text(_item_text)),
    "on_error": _Codec(_on_error, _on_error_text),
}
