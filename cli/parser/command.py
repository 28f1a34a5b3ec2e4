"""A command as the command line gives it: its words, typed, and the function that runs it."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, TypeVar, cast

CommandT = TypeVar("CommandT", bound="ParsedCommand")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """The options that come before the command.

    Attributes:
        config: The config file; None: the one in the usual place, if there is one.
        read_only: Whether evalroom may change anything on a machine.
        record: Where events are written for `replay`; None: nowhere.
        leaving: What the room says before it closes; None: its usual sentence.
    """

    config: Path | None = None
    read_only: bool = False
    record: Path | None = None
    leaving: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """The words of one command.

    Attributes:
        run_by: The function that runs it, as `module:function`. It takes the command and the
            `GlobalOptions` and returns the exit status. A name, so that the module is imported
            only when the command runs.
        as_json: Whether it prints JSON.
    """

    run_by: ClassVar[str]
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """The consent that the command line gives in advance.

    Attributes:
        yes: `--yes`: enough where a yes is asked for.
        confirm: The texts of `--confirm`: enough where the right words must be typed.
    """

    yes: bool = False
    confirm: tuple[str, ...] = ()


def command_of(kind: type[CommandT], given: Namespace, **more: object) -> CommandT:
    """Return the command whose fields are the parsed words of the same names.

    Args:
        kind: Its dataclass. A field `consent` is made of `--yes` and `--confirm`.
        given: What argparse understood; lists become tuples.
        more: Fields that are not words, or were made of several.
    """
    words = cast("dict[str, object]", vars(given))
    made = dict(more)
    for name in (field.name for field in fields(kind) if field.name not in made):
        if name == "consent":
            made[name] = consent_of(given)
        elif name in words:
            value = words[name]
            made[name] = tuple(cast("list[object]", value)) if isinstance(value, list) else value
    make = cast("Callable[..., CommandT]", kind)
    return make(**made)


def consent_of(given: Namespace) -> Consent:
    """Return what `--yes` and `--confirm` give, where a command has them."""
    words = cast("dict[str, object]", vars(given))
    texts = cast("list[str]", words.get("confirm") or [])
    return Consent(yes=bool(words.get("yes", False)), confirm=tuple(texts))
