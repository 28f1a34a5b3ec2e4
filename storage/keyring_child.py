"""The child process that accesses this computer's keyring.

A keyring may prompt on another screen, hang or crash; in a process of its own it can't block
evalroom. It reads one line of JSON from standard input (`verb`: where, get, set or delete; `names`,
`value`) and writes one line. It runs as a script, without importing the rest of evalroom.
"""

import contextlib
import ctypes
import json
import os
import resource
import sys
from typing import Any, Protocol, cast

SERVICE = "evalroom"
SYSTEM_BACKENDS = frozenset(
    f"keyring.backends.{name}" for name in ("SecretService", "libsecret", "kwallet", "macOS")
)
"""Backends of the operating system's keyring; the others store nothing, or store plain text."""


class _Backend(Protocol):
    """The part of a keyring backend that is used here."""

    def get_password(self, service: str, username: str) -> str | None: ...
    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


def os_keyring() -> _Backend | None:
    """Return the operating system's keyring; None: it has none, or the operator disabled it."""
    from keyring import get_keyring  # noqa: PLC0415 - only needed in this process
    from keyring.backends.chainer import ChainerBackend  # noqa: PLC0415

    found = get_keyring()
    several = found.backends if isinstance(found, ChainerBackend) else [found]
    real = (each for each in several if type(each).__module__ in SYSTEM_BACKENDS)
    return cast("_Backend | None", next(real, None))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Carry out one request and return the answer to print."""
    backend = os_keyring()
    verb, names = request["verb"], request.get("names", [])
    if verb == "where" or backend is None:
        return {"where": None if backend is None else type(backend).__module__.rpartition(".")[2]}
    reply: dict[str, Any] = {"where": type(backend).__module__.rpartition(".")[2]}
    match verb:
        case "get":
            found = {name: backend.get_password(SERVICE, name) for name in names}
            reply["values"] = {name: value for name, value in found.items() if value is not None}
        case "set":
            backend.set_password(SERVICE, names[0], request["value"])
        case _:
            delete(backend, names[0])
    return reply


def delete(backend: _Backend, name: str) -> None:
    """Delete one value; a missing value is not an error."""
    from keyring.errors import PasswordDeleteError  # noqa: PLC0415

    try:
        backend.delete_password(SERVICE, name)
    except PasswordDeleteError:
        if backend.get_password(SERVICE, name) is not None:
            raise


def forbid_core_dumps() -> None:
    """Leave no core dump: this process holds secrets."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def main() -> None:
    """Answer one request."""
    forbid_core_dumps()
    own = os.dup(1)
    os.dup2(2, 1)  # a backend that prints must not corrupt the answer
    reply = answer(json.loads(sys.stdin.readline()))
    with os.fdopen(own, "w", encoding="ascii") as out:
        out.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
