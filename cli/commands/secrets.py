"""`evalroom secrets set|list|delete`: values come in by standard input, and never go out."""

import getpass
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from cli.commands.questions import answered
from cli.render.plain import aligned, print_json, print_lines
from core.errors import NotConfirmed, SecretMissing, UsageWrong
from core.launch.secret_store import MAX_VALUE_BYTES, KeptIn, SecretStore, check_name
from core.text import shown

_WHATS = ("set", "list", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a command line asks for.

    Attributes:
        what: `set`, `list` or `delete`.
        name: Of which; empty for `list`.
        value: What is set.
        yes: Whether nothing is asked before it is deleted.
    """

    what: str
    name: str = ""
    value: str = field(default="", repr=False)
    yes: bool = False
    as_json: bool = False


def secrets_asked(
    what: str, names: Sequence[str], *, argument: str | None, yes: bool, as_json: bool
) -> Asked:
    """Return what is asked for; a value is read now, while Ctrl+C still is one.

    Args:
        what: As in `Asked`; other words are refused.
        names: One, but for `list`.
        argument: A value that was given as an argument, where it must not be.
        yes: As in `Asked`.
        as_json: As in `Asked`.

    Raises:
        UsageWrong: A name too many or too few, or what is no name or value.
        NotConfirmed: No value was given.
    """
    if what not in _WHATS:
        raise UsageWrong("secrets takes set, list or delete", "see evalroom secrets --help")
    if what == "list" and argument is None:
        if names:
            raise UsageWrong("list takes no NAME", "evalroom secrets list")
        return Asked(what=what, as_json=as_json)
    if len(names) > 1 or argument is not None:
        raise UsageWrong(
            "a secret's value is never an argument: others could read it in the list of processes",
            f"evalroom secrets {what} NAME; a value is asked for, or read from standard input",
        )
    if not names:
        raise UsageWrong(f"{what} needs a NAME", f"evalroom secrets {what} NAME")
    check_name(names[0])
    value = _value(names[0]) if what == "set" else ""
    return Asked(what=what, name=names[0], value=value, yes=yes, as_json=as_json)


async def secrets(store: SecretStore, file: Path, asked: Asked) -> int:
    """Do what is asked for; return the exit status.

    Args:
        store: Keeps them.
        file: Where they are without a keyring.
        asked: What.

    Raises:
        UsageWrong: The value can't be one.
        NotConfirmed: Nobody said that it may be deleted.
        SecretMissing: There is none of that name.
        StorageError: They can't be read or kept.
    """
    match asked.what:
        case "list":
            _list(await store.names(), file, as_json=asked.as_json)
        case "set":
            where = await store.set(asked.name, asked.value)
            if asked.as_json:
                print_json({"name": asked.name, "kept_in": where})
            else:
                print_lines([f"{asked.name} is kept in {_place(where, file)}"])
        case _:
            await _delete(store, asked)
    return 0


def _value(name: str) -> str:
    """Return the value that is typed without an echo, or all of standard input."""
    if not sys.stdin.isatty():
        return read_value(name, sys.stdin.buffer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"value of {name}: ")
        except getpass.GetPassWarning:
            said = "this terminal would show the value"
            raise UsageWrong(said, "give it on standard input") from None
        except EOFError:
            raise NotConfirmed("no value was given: nothing is kept") from None


def read_value(name: str, source: BinaryIO) -> str:
    """Return the value that a file or pipe holds, without the line end that a program adds.

    Raises:
        UsageWrong: It is no text, or too long; it is not told further.
    """
    raw = source.read(MAX_VALUE_BYTES + 3)
    raw = raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise UsageWrong(f"the value of {shown(name)} is no UTF-8 text") from None


def _place(where: KeptIn, file: Path) -> str:
    return "the keyring of this computer" if where == "keyring" else f"{shown(str(file))} (0600)"


def _list(names: Mapping[str, KeptIn], file: Path, *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": name, "kept_in": where} for name, where in names.items()]
        print_json({"secrets": rows, "file": str(file)})
    elif names:
        print_lines(aligned([(shown(name), _place(at, file)) for name, at in names.items()]))
    else:
        print_lines(["no secret is kept; evalroom secrets set NAME enters one"])


async def _delete(store: SecretStore, asked: Asked) -> None:
    if asked.name not in await store.names():
        raise SecretMissing((asked.name,))
    if not asked.yes:
        if asked.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise NotConfirmed(f"not confirmed: {asked.name} is not deleted", "add --yes")
        answer = await answered(f"delete the secret {asked.name}? [y/N] ") or ""
        if answer.strip().lower() not in {"y", "yes"}:
            raise NotConfirmed(f"not confirmed: {asked.name} is not deleted")
    await store.delete(asked.name)
    if asked.as_json:
        print_json({"name": asked.name, "deleted": True})
    else:
        print_lines([f"{asked.name} is deleted"])
