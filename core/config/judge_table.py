"""Reads the `[judge]` table: numbers by kind and name, some in an inner table."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import cast

from core.config.judge import JudgeRule
from core.config.rules import InvalidValue, UnknownKey, number, plain_number


def judge_values(value: object, known: Sequence[JudgeRule]) -> Mapping[str, float]:
    """Return the numbers of a `[judge]` table that are not the defaults.

    Args:
        value: The table as it was read.
        known: Every number that may stand in it.

    Raises:
        InvalidValue: A value is not a number that makes sense.
        UnknownKey: A key is unknown.
    """
    by_path = {tuple(rule.path.split(".")): rule for rule in known}
    found: dict[str, float] = {}
    tables = {path[:depth] for path in by_path for depth in range(1, len(path))}
    for path, each in _leaves(value, (), tables):
        rule = by_path.get(path)
        if rule is None:
            raise UnknownKey(_keys_beside(path, by_path), path)
        try:
            given = number(rule.low, rule.high, rule.unit)(each)
        except InvalidValue as error:
            raise InvalidValue(error.allowed, path) from None
        if given != rule.default:
            found[rule.path] = given
    _refuse_mixed_up(found, by_path)
    return MappingProxyType(found)


def _refuse_mixed_up(
    found: Mapping[str, float], by_path: Mapping[tuple[str, ...], JudgeRule]
) -> None:
    """Refuse numbers by which something is an alarm before it is suspect.

    Raises:
        InvalidValue: A `suspect` and the `alarm` beside it are the wrong way round.
    """
    for path, alarm in by_path.items():
        suspect = by_path.get((*path[:-1], "suspect"))
        if path[-1] != "alarm" or suspect is None:
            continue
        first = found.get(suspect.path, suspect.default)
        then = found.get(alarm.path, alarm.default)
        falls = suspect.default > alarm.default
        if first < then if falls else first > then:
            bound = "or more" if falls else "or less"
            what = f"{plain_number(then)} {alarm.unit} {bound}, the alarm beside it; or change both"
            at = suspect if suspect.path in found else alarm
            if at is alarm:
                bound = "or less" if falls else "or more"
                what = f"{plain_number(first)} {alarm.unit} {bound}, from where it is suspect"
            raise InvalidValue(what, tuple(at.path.split(".")))


def _leaves(
    value: object, path: tuple[str, ...], tables: set[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield what stands in a table and in its inner tables, each with its path."""
    if not isinstance(value, dict):
        raise InvalidValue("a table", path)
    for key, inner in cast("dict[str, object]", value).items():
        below = (*path, key)
        if below in tables:
            yield from _leaves(inner, below, tables)
        else:
            yield below, inner


def _keys_beside(
    path: tuple[str, ...], known: Mapping[tuple[str, ...], JudgeRule]
) -> tuple[str, ...]:
    """Return the keys that may stand in place of the last part of a path."""
    depth = len(path)
    beside = {each[depth - 1] for each in known if each[: depth - 1] == path[:-1]}
    return tuple(sorted(beside))
