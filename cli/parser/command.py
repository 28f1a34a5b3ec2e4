"""The base of all parsed commands: typed arguments, and the function that runs the command."""

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
        config: The config file; None: the one at the default path, if it exists.
        read_only: Whether evalroom refuses to change anything on any machine.
        record: The file to record events in, for `replay`; None: no recording.
        leaving: The room's question before it closes; None: the default one.
        own_run: The id of a run that counts as launched by this operator; None: only those in the
            history.
    """

    config: Path | None = None
    read_only: bool = False
    record: Path | None = None
    leaving: str | None = None
    own_run: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """The arguments of one command.

    Attributes:
        run_by: The function that runs it, as `module:function`. It takes the command and the
            `GlobalOptions` and returns the exit status. It
            is a name, so that the module is imported only when the command runs.
        as_json: Whether it prints JSON.
    """

    run_by: ClassVar[str]
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """The consent that the command line gives in advance.

    Attributes:
        yes: `--yes`: enough where a yes is required.
        confirm: The texts of `--confirm`: enough where one of them is the text to type.
    """

    yes: bool = False
    confirm: tuple[str, ...] = ()


def command_of(kind: type[CommandT], given: Namespace, **more: object) -> CommandT:
    """Return the command whose fields are the parsed arguments of the same names.

    Args:
        kind: The command's dataclass. A field `consent` is made from `--yes` and `--confirm`.
        given: The namespace from argparse; lists become tuples.
        more: Fields that are not arguments, or are made from several.
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
    """Return the consent of `--yes` and `--confirm`, for commands that have them."""
    words = cast("dict[str, object]", vars(given))
    texts = cast("list[str]", words.get("confirm") or [])
    return Consent(yes=bool(words.get("yes", False)), confirm=tuple(texts))
