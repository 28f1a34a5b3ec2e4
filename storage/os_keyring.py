"""Access to this computer's keyring, through a child process that is killed after a timeout."""

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

TIMEOUT_S = 60.0
"""How long a keyring may take, seconds: it may ask its owner for a password."""
DISABLE_KEYRING = "PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring"
"""The environment variable that makes evalroom not use a keyring."""
_ADVICE = f"unlock it and try again, or set {DISABLE_KEYRING} to store secrets in a file instead"
_CHILD = (sys.executable, "-I", str(Path(__file__).with_name("keyring_child.py")))
_MAX_ERROR_CHARS = 300


class OsKeyring:
    """This computer's keyring.

    Args:
        child: The command that starts the child process.
        timeout: How long one access may take, seconds.
    """

    def __init__(self, child: tuple[str, ...] = _CHILD, timeout: float = TIMEOUT_S) -> None:
        self._child = child
        self._timeout = timeout

    async def where(self) -> str | None:
        """Return the name of the keyring; None: this computer has none.

        Raises:
            StorageError: The keyring does not answer.
        """
        found = (await self._ask({"verb": "where"})).get("where")
        return found if isinstance(found, str) else None

    async def get(self, names: Collection[str]) -> Mapping[str, str]:
        """Return the stored values of `names`; names without a value are left out.

        Raises:
            StorageError: The keyring is locked, or can't be used.
        """
        answer = await self._ask({"verb": "get", "names": list(names)})
        if answer.get("where") is None:
            raise StorageError("the keyring that holds the secret is not available", _NOT_HERE)
        return {str(name): str(value) for name, value in answer.get("values", {}).items()}

    async def set(self, name: str, value: str) -> bool:
        """Store a value; return False if this computer has no keyring.

        Raises:
            StorageError: The keyring is locked, or can't be used.
        """
        answer = await self._ask({"verb": "set", "names": [name], "value": value}, hide=value)
        return answer.get("where") is not None

    async def delete(self, name: str) -> None:
        """Delete a value; a missing value is not an error.

        Raises:
            StorageError: The keyring is locked, or can't be used.
        """
        answer = await self._ask({"verb": "delete", "names": [name]})
        if answer.get("where") is None:
            raise StorageError("the keyring that holds the secret is not available", _NOT_HERE)

    async def _ask(self, request: Mapping[str, Any], *, hide: str = "") -> Mapping[str, Any]:
        child = await asyncio.create_subprocess_exec(
            *self._child,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._timeout):
                out, err = await child.communicate(json.dumps(request).encode() + b"\n")
        except TimeoutError:
            message = f"the keyring did not answer within {self._timeout:.0f} s: is it locked?"
            raise StorageError(message, _ADVICE) from None
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        try:
            return parse_object(out)
        except AnswerMalformed:
            why = _error_text(err, hide)
            raise StorageError(f"can't use the keyring: {why}", _ADVICE) from None


_NOT_HERE = "open the keyring that you used before, or enter the secret again"
_MIN_HIDDEN_CHARS = 4


def _error_text(err: bytes, hide: str) -> Shown:
    """Return the last line of the child's errors, with every word of `hide` masked."""
    lines = err.decode("utf-8", "replace").strip().splitlines() or ["no error output"]
    message = lines[-1].rpartition("keyring.errors.")[2].rstrip(".")
    for word in sorted(hide.split(), key=len, reverse=True):
        if len(word) >= _MIN_HIDDEN_CHARS:
            message = message.replace(word, "***")
    return shown(message, _MAX_ERROR_CHARS)
