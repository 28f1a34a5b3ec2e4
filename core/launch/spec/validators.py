"""Building blocks of the spec's rules: text, tables, lists, JSON values."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from core.config.rules import InvalidValue, Rule, UnknownKey
from core.launch.spec.secret_patterns import secrets_within


def text_without_nul(value: object) -> str:
    """Any text, on one or more lines."""
    if isinstance(value, str) and "\0" not in value and is_text(value):
        return value
    raise InvalidValue("text")


def is_text(value: str) -> bool:
    """Whether it can be encoded as UTF-8 (no lone surrogates)."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def table(value: object, what: str = "a table") -> dict[str, object]:
    """A table."""
    if isinstance(value, dict):
        return cast("dict[str, object]", value)
    raise InvalidValue(what)


def within(key: str | int, rule: Rule, value: object) -> Any:
    """Return the checked value of `key`; errors of the rule get the key in their path."""
    try:
        return rule(value)
    except UnknownKey as wrong:
        raise UnknownKey(wrong.keys, (key, *wrong.within)) from None
    except InvalidValue as wrong:
        raise InvalidValue(wrong.allowed, (key, *wrong.within)) from None


def one_or_many(each: Rule) -> Callable[[object], tuple[Any, ...]]:
    """Return a rule for one value, or a non-empty list without duplicates."""

    def rule(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            return (each(value),)
        return _listed(cast("list[object]", value), each, at_least=1)

    return rule


def list_of(each: Rule, what: str) -> Callable[[object], tuple[Any, ...]]:
    """Return a rule for a list without duplicates."""

    def rule(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise InvalidValue(f'a list of {what}, like ["one", "two"]')
        return _listed(cast("list[object]", value), each, at_least=0)

    return rule


def _listed(values: list[object], each: Rule, *, at_least: int) -> tuple[Any, ...]:
    if len(values) < at_least:
        raise InvalidValue("a list that is not empty")
    out: list[Any] = []
    for index, value in enumerate(values):
        try:
            one = each(value)
        except InvalidValue as wrong:
            raise InvalidValue(wrong.allowed, (index, *wrong.within)) from None
        if one in out:
            raise InvalidValue("each item only once", (index,))
        out.append(one)
    return tuple(out)


def json_value(value: object) -> Any:
    """A JSON value: no dates, no infinite numbers, no not-a-number."""
    if isinstance(value, dict):
        inner: dict[str, Any] = {}
        for key, each in cast("dict[object, object]", value).items():
            inner[text_without_nul(key)] = within(str(key), json_value, each)
        return MappingProxyType(inner)
    if isinstance(value, list):
        listed = enumerate(cast("list[object]", value))
        return tuple(within(index, json_value, each) for index, each in listed)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str) and is_text(value):
        return value
    raise InvalidValue("text, a finite number, true, false, a list or a table")


def no_secret(values: Mapping[str, Any]) -> None:
    """Refuse values that look like secrets."""
    for place in secrets_within(values):
        raise InvalidValue(
            'values that are not secrets: put the name of a secret into "secrets",'
            ' like secrets = ["OPENAI_API_KEY"]',
            place,
        )
