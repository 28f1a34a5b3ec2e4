"""What talks to the keyring of this computer, in a process of its own.

A keyring may ask on another screen, wait for ever or break in its own ways: here that holds
nobody up. One line of JSON comes in on standard input (`verb`: where, get, set or delete;
`names`, `value`), and one goes out. It runs as a file, without the rest of evalroom.
"""

import json
import os
import sys
from typing import Any, Protocol, cast

SERVICE = "evalroom"
REAL = frozenset(
    f"keyring.backends.{name}" for name in ("SecretService", "libsecret", "kwallet", "macOS")
)
"""Backends that are a keyring of the system; others keep nothing, or keep it in the open."""


class _Backend(Protocol):
    """What a keyring does."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def os_keyring() -> _Backend | None:
    """Return the keyring of this system; None: there is none, or the operator wants none."""
    from keyring import get_keyring  # noqa: PLC0415 - in this process alone
    from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415

    found = get_keyring()
    several = found.backends if isinstance(found, ChainerBackend) else [found]
    real = (each for each in several if type(each).__module__ in REAL)
    return cast("_Backend | None", next(real, None))


def answer_to(asked: dict[str, Any]) -> dict[str, Any]:
    """Do what is asked for; return what is told."""
    backend = os_keyring()
    verb, names = asked["verb"], asked.get("names", [])
    if verb == "where" or backend is None:
        return {"where": None if backend is None else type(backend).__module__.rpartition(".")[2]}
    told: dict[str, Any] = {"where": type(backend).__module__.rpartition(".")[2]}
    match verb:
        case "get":
            found = {name: backend.get_password(SERVICE, name) for name in names}
            told["values"] = {name: value for name, value in found.items() if value is not None}
        case "set":
            backend.set_password(SERVICE, names[0], asked["value"])
        case _:
            delete(backend, names[0])
    return told


def delete(backend: _Backend, name: str) -> None:
    """Delete one; that it was not there is no harm."""
    from keyring.errors import PasswordDeleteError  # noqa: PLC0415

    try:
        backend.delete_password(SERVICE, name)
    except PasswordDeleteError:
        if backend.get_password(SERVICE, name) is not None:
            raise


def main() -> None:
    """Answer one question."""
    own = os.dup(1)
    os.dup2(2, 1)  # what a backend prints is no answer
    told = answer_to(json.loads(sys.stdin.readline()))
    with os.fdopen(own, "w", encoding="ascii") as out:
        out.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
