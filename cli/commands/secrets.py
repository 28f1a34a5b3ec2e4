"""`evalroom secrets set | list | delete`: values are never printed."""

import getpass
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from cli.confirm import confirm
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.secrets import SecretsCommand
from cli.render.plain import aligned, print_json, print_lines
from core.errors import NotConfirmed, SecretMissing, UsageWrong
from core.launch.secret_store import MAX_VALUE_BYTES, KeptIn, SecretStore, check_name
from core.text import shown
from storage.paths import paths
from storage.secrets import Secrets


def secrets(command: SecretsCommand, options: GlobalOptions) -> int:
    """Run `evalroom secrets`; return the exit status.

    The value is read before the event loop starts, so that Ctrl+C interrupts.

    Raises:
        UsageWrong: The name or the value is not valid.
        NotConfirmed: No value was given, or nobody agreed to the deletion.
        SecretMissing: No secret has that name.
        StorageError: The secrets can't be read or written.
    """
    del options
    if command.what != "list":
        check_name(command.name)
    value = _value(command.name) if command.what == "set" else ""
    file = paths().secrets
    return run_loop(_secrets(Secrets(file), file, command, value))


async def _secrets(store: SecretStore, file: Path, command: SecretsCommand, value: str) -> int:
    match command.what:
        case "list":
            _list(await store.names(), file, as_json=command.as_json)
        case "set":
            where = await store.set(command.name, value)
            if command.as_json:
                print_json({"name": command.name, "kept_in": where})
            else:
                print_lines([f"{command.name} is stored in {_place(where, file)}"])
        case "delete":
            await _delete(store, command)
    return 0


def _value(name: str) -> str:
    """Return the value: typed without echo, or all of standard input."""
    if not sys.stdin.isatty():
        return read_value(name, sys.stdin.buffer)
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(f"value of {name}: ")
        except getpass.GetPassWarning:
            raise UsageWrong(
                "this terminal can't hide what you type", "pass the value on standard input"
            ) from None
        except EOFError:
            raise NotConfirmed("no value was given: nothing was stored") from None


def read_value(name: str, source: BinaryIO) -> str:
    """Return the value from a file or pipe, without its last line end.

    Raises:
        UsageWrong: The value is not text. The message does not repeat it.
    """
    raw = source.read(MAX_VALUE_BYTES + 3)
    raw = raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise UsageWrong(f"the value of {shown(name)} is not UTF-8 text") from None


def _place(where: KeptIn, file: Path) -> str:
    return "the keyring of this computer" if where == "keyring" else f"{shown(str(file))} (0600)"


def _list(names: Mapping[str, KeptIn], file: Path, *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": name, "kept_in": where} for name, where in names.items()]
        print_json({"secrets": rows, "file": str(file)})
    elif names:
        print_lines(aligned([(shown(name), _place(at, file)) for name, at in names.items()]))
    else:
        print_lines(["no secrets are stored; add one with: evalroom secrets set NAME"])


async def _delete(store: SecretStore, command: SecretsCommand) -> None:
    if command.name not in await store.names():
        raise SecretMissing((command.name,), "see: evalroom secrets list")
    await confirm(
        command.consent,
        question=f"delete the secret {command.name}",
        otherwise=f"{command.name} was not deleted",
        may_ask=not command.as_json,
    )
    await store.delete(command.name)
    if command.as_json:
        print_json({"name": command.name, "deleted": True})
    else:
        print_lines([f"{command.name} was deleted"])
