"""Rules for config values: each returns the checked value or raises `InvalidValue`."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from core.config.judge import Price
from core.config.keys import canonical_keys
from core.config.model import CADENCES, Cadence, TaskPhase

NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,62}")
_SCHEME_PATTERN = re.compile(r"[a-z][a-z0-9+.-]{0,19}")
_WORD_PATTERN = re.compile(r"[!-,./-~][!-~]{0,254}")
_PORT_LAST = 65_535
_MODEL_CHARACTERS = 200


class InvalidValue(Exception):
    """A value is wrong.

    Attributes:
        allowed: A description of the allowed values, as the end of a sentence.
        within: The path from the rule's own key down to the wrong value.
    """

    def __init__(self, allowed: str, within: tuple[str | int, ...] = ()) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.within = within


class UnknownKey(InvalidValue):
    """A nested table has an unknown key, the last part of `within`."""

    def __init__(self, keys: tuple[str, ...], within: tuple[str | int, ...]) -> None:
        super().__init__(", ".join(keys), within)
        self.keys = keys


Rule = Callable[[object], Any]
"""Returns the value in the form that the config stores, or raises `InvalidValue`."""


def name(value: object) -> str:
    """A machine's name or a tag; safe on screens, on command lines and in paths."""
    if isinstance(value, str) and NAME_PATTERN.fullmatch(value):
        return value
    raise InvalidValue("1 to 63 of the characters A-Z a-z 0-9 _ . @ + -, not starting with . @ + -")


def word(value: object) -> str:
    """A host or user: printable ASCII without spaces that can't be mistaken for an option."""
    if isinstance(value, str) and _WORD_PATTERN.fullmatch(value):
        return value
    raise InvalidValue("printable ASCII without spaces, not starting with -")


def scheme(value: object) -> str:
    """The scheme of a URL, in lower case and without `://`."""
    if isinstance(value, str) and _SCHEME_PATTERN.fullmatch(value):
        return value
    raise InvalidValue('the part of a URL before "://", in lower case, such as "s3"')


def text(value: object) -> str:
    """Printable text on one line."""
    if isinstance(value, str) and value and value.isprintable() and value == value.strip():
        return value
    raise InvalidValue("non-empty text on one line")


def program(value: object) -> str:
    """A program's name or path."""
    if isinstance(value, str) and value and value.isprintable() and not value.startswith("-"):
        return value
    raise InvalidValue('a program\'s name or path, like "python3" or "/opt/venv/bin/python"')


def remote_path(value: object) -> str:
    """A path on the machine; not expanded here."""
    if isinstance(value, str) and value.isprintable() and value.startswith(("/", "~/")):
        return value
    raise InvalidValue('a path on that machine, starting with "/" or "~/"')


def flag(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise InvalidValue("true or false")


def port(value: object) -> int:
    """A TCP port."""
    return whole(1, _PORT_LAST)(value)


def whole(low: int, high: int) -> Callable[[object], int]:
    """Return a rule for whole numbers from `low` to `high`."""

    def rule(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise InvalidValue(f"a whole number from {low} to {high}")

    return rule


def number(low: float, high: float, unit: str) -> Callable[[object], float]:
    """Return a rule for numbers from `low` to `high`; `unit` is for the message."""

    def rule(value: object) -> float:
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and low <= value <= high  # false for NaN
        ):
            return float(value)
        raise InvalidValue(f"a number of {unit} from {plain_number(low)} to {plain_number(high)}")

    return rule


def plain_number(value: float) -> str:
    """Return a number as people write it: `0.5`, `1000000000`."""
    return f"{value:.12g}"


def one_of(*words: str) -> Callable[[object], str]:
    """Return a rule for one of several words."""

    def rule(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise InvalidValue(" or ".join(f'"{each}"' for each in words))

    return rule


def list_of(each: Rule, what: str) -> Callable[[object], tuple[str, ...]]:
    """Return a rule for a list whose elements follow `each`; `what` is for the message."""

    def rule(value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise InvalidValue(f"a list of {what}")
        out: list[str] = []
        for index, element in enumerate(cast("list[object]", value)):
            try:
                out.append(each(element))
            except InvalidValue as wrong:
                raise InvalidValue(wrong.allowed, (index, *wrong.within)) from None
        return tuple(out)

    return rule


def argument(value: object) -> str:
    """One word of a command: text without NUL characters and line breaks."""
    if isinstance(value, str) and value and not set(value) & {"\0", "\n", "\r"}:
        return value
    raise InvalidValue("non-empty text on one line")


def local_path(folder: Path) -> Callable[[object], str]:
    """Return a rule for paths on this computer; expands `~`, and resolves against `folder`."""

    def rule(value: object) -> str:
        if not isinstance(value, str) or not value or not value.isprintable():
            raise InvalidValue('a path on this computer, like "~/.ssh/id_ed25519"')
        expanded = os.path.expanduser(value)  # noqa: PTH111 - Path.expanduser raises for unknown users
        if expanded.startswith("~"):
            raise InvalidValue("a path that starts with an existing home folder")
        return str(folder / expanded)

    return rule


def none_or(rule: Rule) -> Rule:
    """Return a rule that takes the word `none` as it is, and all else by `rule`."""
    return lambda value: value if value == "none" else rule(value)


_PHASES: Mapping[str, TaskPhase] = MappingProxyType(
    {phase.replace(" ", "-"): phase for phase in CADENCES}
)
PHASE_WORDS = tuple(_PHASES)
"""The phases as the config spells them, like `near-the-end`."""
_every = number(0.2, 3_600, "seconds")


def cadences(value: object) -> Mapping[TaskPhase, Cadence]:
    """Seconds between polls, by phase; a missing phase or value keeps its default."""
    out = dict(CADENCES)
    for key, entry in _table(value, "a table of phases").items():
        if key not in _PHASES:
            raise UnknownKey(PHASE_WORDS, (key,))
        out[_PHASES[key]] = _cadence(key, entry, out[_PHASES[key]])
    return MappingProxyType(out)


def _cadence(phase: str, value: object, default: Cadence) -> Cadence:
    allowed = "a table like { tasks = 5, samples = 15 }"
    try:
        entries = _table(value, allowed)
    except InvalidValue as wrong:
        raise InvalidValue(wrong.allowed, (phase,)) from None
    seconds = {"tasks": default.tasks, "samples": default.samples}
    for key, entry in entries.items():
        if key not in seconds:
            raise UnknownKey(tuple(seconds), (phase, key))
        try:
            seconds[key] = _every(entry)
        except InvalidValue as wrong:
            raise InvalidValue(wrong.allowed, (phase, key)) from None
    return Cadence(tasks=seconds["tasks"], samples=seconds["samples"])


def budgets(value: object) -> Mapping[str, int]:
    """Connections that all processes together may open to a model, by the model's name."""
    out: dict[str, int] = {}
    for model, entry in _table(value, "a table of models and connections").items():
        try:
            _refuse_parts(entry)
            out[_model(model)] = whole(1, 1_000_000)(entry)
        except InvalidValue as wrong:
            raise InvalidValue(wrong.allowed, (model,)) from None
    return MappingProxyType(out)


_dollars = number(0, 1_000_000, "US dollars for a million tokens")


def prices(value: object) -> Mapping[str, Price]:
    """Prices of models by their names: US dollars for a million tokens in, and out."""
    return MappingProxyType(
        {
            model: _price(model, entry)
            for model, entry in _table(value, "a table of models and prices").items()
        }
    )


def _price(model: str, value: object) -> Price:
    allowed = "a table like { in = 1.25, out = 10 }"
    try:
        _model(model)
        entries = _table(value, allowed)
        if not {"in", "out"} & set(entries):
            _refuse_parts(*entries.values())
    except InvalidValue as wrong:
        raise InvalidValue(wrong.allowed, (model,)) from None
    for key, entry in entries.items():
        if key not in {"in", "out"}:
            raise UnknownKey(("in", "out"), (model, key))
        try:
            _dollars(entry)
        except InvalidValue as wrong:
            raise InvalidValue(wrong.allowed, (model, key)) from None
    if len(entries) < 2:  # noqa: PLR2004 - both of them
        raise InvalidValue(allowed, (model,))
    return Price(into=_dollars(entries["in"]), out=_dollars(entries["out"]))


def _refuse_parts(*values: object) -> None:
    """Refuse the table that TOML makes of a name with a dot and without quotes (`gpt-4.1 = 2`)."""
    if any(isinstance(each, dict) for each in values):
        raise InvalidValue('a name with a dot in quotes: "openai/gpt-4.1"')


def _model(value: str) -> str:
    if value and value.isprintable() and " " not in value and len(value) <= _MODEL_CHARACTERS:
        return value
    raise InvalidValue('the name of a model, as Inspect has it: "openai/gpt-5"')


def key_names(value: object) -> Mapping[str, str]:
    """Remapped keys: action name to key. The caller checks the action names."""
    out: dict[str, str] = {}
    for action, key in _table(value, "a table of actions and keys").items():
        if not isinstance(key, str) or canonical_keys(key) is None:
            raise InvalidValue('a key, like "p", "/", "f2" or "ctrl+r"', (action,))
        out[action] = key
    return MappingProxyType(out)


def _table(value: object, what: str) -> dict[str, object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value)
    raise InvalidValue(what)
