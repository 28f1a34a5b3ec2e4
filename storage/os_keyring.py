"""The keyring of this computer, asked through a child that is killed when it takes too long."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from core.ctl.decode import parse_object
from core.errors import AnswerMalformed, StorageError
from core.text import Shown, shown

PATIENCE = 60.0
"""Seconds that a keyring may take: it may ask its owner for a password somewhere."""
INSTEAD = "PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring"
"""What makes evalroom leave the keyring alone."""
_ADVICE = f"unlock it and try again; with {INSTEAD} in the environment a file is used instead"
_CHILD = (sys.executable, "-I", str(Path(__file__).with_name("keyring_child.py")))
_SAID_MOST = 300


class OsKeyring:
    """Asks the keyring.

    Args:
        child: The words that start the child.
        patience: Seconds for an answer.
    """

    def __init__(self, child: tuple[str, ...] = _CHILD, patience: float = PATIENCE) -> None:
        self._child = child
        self._patience = patience

    async def where(self) -> str | None:
        """Return what the keyring is; None: there is none.

        Raises:
            StorageError: It gives no answer.
        """
        found = (await self._ask({"verb": "where"})).get("where")
        return found if isinstance(found, str) else None

    async def get(self, names: Collection[str]) -> Mapping[str, str]:
        """Return the values of those names that it has.

        Raises:
            StorageError: It is locked, or can't be used.
        """
        told = await self._ask({"verb": "get", "names": list(names)})
        if told.get("where") is None:
            raise StorageError("the keyring that has the secret is not here now", _NOT_HERE)
        return {str(name): str(value) for name, value in told.get("values", {}).items()}

    async def set(self, name: str, value: str) -> bool:
        """Keep a value; return whether there is a keyring.

        Raises:
            StorageError: It is locked, or can't be used.
        """
        told = await self._ask({"verb": "set", "names": [name], "value": value}, hide=value)
        return told.get("where") is not None

    async def delete(self, name: str) -> None:
        """Delete a value; that there is none is no harm.

        Raises:
            StorageError: It is locked, or can't be used.
        """
        told = await self._ask({"verb": "delete", "names": [name]})
        if told.get("where") is None:
            raise StorageError("the keyring that has the secret is not here now", _NOT_HERE)

    async def _ask(self, asked: Mapping[str, Any], *, hide: str = "") -> Mapping[str, Any]:
        child = await asyncio.create_subprocess_exec(
            *self._child,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._patience):
                out, err = await child.communicate(json.dumps(asked).encode() + b"\n")
        except TimeoutError:
            said = f"the keyring gave no answer within {self._patience:.0f} s: is it locked?"
            raise StorageError(said, _ADVICE) from None
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        try:
            return parse_object(out)
        except AnswerMalformed:
            said = _said(err, hide)
            raise StorageError(f"the keyring can't be used: {said}", _ADVICE) from None


_NOT_HERE = "open it as when the secret was entered, or enter the secret again"
_LEAST = 4


def _said(err: bytes, hide: str) -> Shown:
    """Return the last line of a child's errors, without a word of the value that it was given."""
    lines = err.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
    said = lines[-1].rpartition("keyring.errors.")[2].rstrip(".")
    for word in sorted(hide.split(), key=len, reverse=True):
        if len(word) >= _LEAST:
            said = said.replace(word, "***")
    return shown(said, _SAID_MOST)
