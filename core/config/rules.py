"""What each key of the config may hold. A rule returns the value or says what is allowed."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from core.config.keys import canonical
from core.config.model import CADENCES, Cadence, Phase

NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,62}")
_WORD_PATTERN = re.compile(r"[!-,./-~][!-~]{0,254}")
_PORT_LAST = 65_535


class NotAllowed(Exception):
    """A value is wrong.

    Attributes:
        allowed: What may stand there instead, as the end of a sentence.
        within: Keys from the rule's own key down to the wrong one.
    """

    def __init__(self, allowed: str, within: tuple[str | int, ...] = ()) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.within = within


class NoSuchKey(NotAllowed):
    """A nested table holds a key that is none: `within` ends in it."""

    def __init__(self, keys: tuple[str, ...], within: tuple[str | int, ...]) -> None:
        super().__init__(", ".join(keys), within)
        self.keys = keys


Rule = Callable[[object], Any]
"""Returns the value as the config keeps it, or raises `NotAllowed`."""


def name(value: object) -> str:
    """A name that is harmless on every screen, command line and path."""
    if isinstance(value, str) and NAME_PATTERN.fullmatch(value):
        return value
    raise NotAllowed("1 to 63 of the letters A-Z a-z 0-9 _ . @ + -, not beginning with . @ + or -")


def word(value: object) -> str:
    """A host or user: visible ASCII without spaces that no program takes for an option."""
    if isinstance(value, str) and _WORD_PATTERN.fullmatch(value):
        return value
    raise NotAllowed("visible ASCII text without spaces that does not begin with -")


def text(value: object) -> str:
    """Any visible text on one line."""
    if isinstance(value, str) and value and value.isprintable() and value == value.strip():
        return value
    raise NotAllowed("text on one line that is not empty")


def program(value: object) -> str:
    """A program's name or path."""
    if isinstance(value, str) and value and value.isprintable() and not value.startswith("-"):
        return value
    raise NotAllowed('a program\'s name or path, like "python3" or "/opt/venv/bin/python"')


def remote_path(value: object) -> str:
    """A path on the machine; it is not expanded here."""
    if isinstance(value, str) and value.isprintable() and value.startswith(("/", "~/")):
        return value
    raise NotAllowed('a path on that machine that begins with "/" or "~/"')


def flag(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise NotAllowed("true or false")


def port(value: object) -> int:
    """A TCP port."""
    return whole(1, _PORT_LAST)(value)


def whole(low: int, high: int) -> Callable[[object], int]:
    """Return a rule for whole numbers from `low` to `high`."""

    def rule(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise NotAllowed(f"a whole number from {low} to {high}")

    return rule


def number(low: float, high: float, unit: str) -> Callable[[object], float]:
    """Return a rule for numbers from `low` to `high` of a unit."""

    def rule(value: object) -> float:
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and low <= value <= high  # not-a-number is in no range
        ):
            return float(value)
        raise NotAllowed(f"{unit}, a number from {low:g} to {high:g}")

    return rule


def one_of(*words: str) -> Callable[[object], str]:
    """Return a rule for one of several words."""

    def rule(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise NotAllowed(" or ".join(f'"{each}"' for each in words))

    return rule


def many(each: Rule, what: str) -> Callable[[object], tuple[str, ...]]:
    """Return a rule for a list whose every element keeps to `each`."""

    def rule(value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise NotAllowed(f"a list of {what}")
        out: list[str] = []
        for index, element in enumerate(cast("list[object]", value)):
            try:
                out.append(each(element))
            except NotAllowed as wrong:
                raise NotAllowed(wrong.allowed, (index, *wrong.within)) from None
        return tuple(out)

    return rule


def argument(value: object) -> str:
    """One word of a command: any text without a NUL or a line end."""
    if isinstance(value, str) and value and not set(value) & {"\0", "\n", "\r"}:
        return value
    raise NotAllowed("text on one line that is not empty")


def local_path(folder: Path) -> Callable[[object], str]:
    """Return a rule for paths of this computer; `~` is expanded, relative ones are of `folder`."""

    def rule(value: object) -> str:
        if not isinstance(value, str) or not value or not value.isprintable():
            raise NotAllowed('a path on this computer, like "~/.ssh/id_ed25519"')
        expanded = os.path.expanduser(value)  # noqa: PTH111 - Path's own raises for unknown users
        if expanded.startswith("~"):
            raise NotAllowed("a path whose home folder exists on this computer")
        return str(folder / expanded)

    return rule


_PHASES: Mapping[str, Phase] = MappingProxyType(
    {phase.replace(" ", "-"): phase for phase in CADENCES}
)
PHASE_WORDS = tuple(_PHASES)
"""The phases as the config spells them: `near-the-end`."""
_every = number(0.2, 3_600, "seconds")


def cadences(value: object) -> Mapping[Phase, Cadence]:
    """The seconds between looks by phase; what is absent keeps its default."""
    out = dict(CADENCES)
    for key, entry in _table(value, "a table of phases").items():
        if key not in _PHASES:
            raise NoSuchKey(PHASE_WORDS, (key,))
        out[_PHASES[key]] = _cadence(key, entry, out[_PHASES[key]])
    return MappingProxyType(out)


def _cadence(phase: str, value: object, default: Cadence) -> Cadence:
    allowed = "a table like { tasks = 5, samples = 15 }"
    try:
        entries = _table(value, allowed)
    except NotAllowed as wrong:
        raise NotAllowed(wrong.allowed, (phase,)) from None
    seconds = {"tasks": default.tasks, "samples": default.samples}
    for key, entry in entries.items():
        if key not in seconds:
            raise NoSuchKey(tuple(seconds), (phase, key))
        try:
            seconds[key] = _every(entry)
        except NotAllowed as wrong:
            raise NotAllowed(wrong.allowed, (phase, key)) from None
    return Cadence(tasks=seconds["tasks"], samples=seconds["samples"])


def key_names(value: object) -> Mapping[str, str]:
    """Remapped keys: an action's name to a key's name. The screens know which there are."""
    out: dict[str, str] = {}
    for action, key in _table(value, "a table of actions and keys").items():
        if not isinstance(key, str) or canonical(key) is None:
            raise NotAllowed('a key, like "p", "/", "f2" or "ctrl+r"', (action,))
        out[action] = key
    return MappingProxyType(out)


def _table(value: object, what: str) -> dict[str, object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value)
    raise NotAllowed(what)
