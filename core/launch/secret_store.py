"""Secrets by name: what may be one, and who keeps them.

A value is entered once and shown never again; specs, plans and journals hold names alone.
"""

import re
from collections.abc import Collection, Mapping
from typing import Literal, Protocol

from core.errors import UsageWrong
from core.text import shown

MAX_VALUE_BYTES = 64 * 1024
"""The longest value, bytes: with its name it is one variable, of which Linux takes 128 KiB."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

KeptIn = Literal["keyring", "file"]


class SecretStore(Protocol):
    """The secrets of an operator; nothing of it blocks, all of it ends within a minute or so."""

    async def names(self) -> Mapping[str, KeptIn]:
        """Return the names, sorted, with where each is kept.

        Raises:
            StorageError: They can't be read.
        """
        ...

    async def open(self, names: Collection[str]) -> Mapping[str, str]:
        """Return the values of these names.

        Raises:
            SecretMissing: One of them is not kept.
            StorageError: They can't be read: the keyring is locked, the file is not private.
        """
        ...

    async def set(self, name: str, value: str) -> KeptIn:
        """Keep a value, in place of what was under that name; return where it is now.

        Raises:
            UsageWrong: As `check_name` and `check_value`.
            StorageError: It can't be kept; what was there before is there still.
        """
        ...

    async def delete(self, name: str) -> None:
        """Forget a secret.

        Raises:
            SecretMissing: There is none of that name.
            StorageError: It can't be deleted.
        """
        ...


def check_name(name: str) -> None:
    """Check a secret's name. The error does not repeat it: it may be a value in the wrong place.

    Raises:
        UsageWrong: The name is not valid.
    """
    if not _NAME.fullmatch(name):
        raise UsageWrong(
            "that is not a valid secret name: use letters, digits and _, not starting with a digit",
            "evalroom asks for the value, or reads it from standard input: it is never an argument",
        )


def check_value(name: str, value: str) -> None:
    """Refuse what no variable can hold.

    Raises:
        UsageWrong: It is empty, holds a NUL, is no text, or is too long.
    """
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        size = -1
    if size < 0 or "\0" in value:
        wrong = "holds what no variable can: a NUL, or bytes that are no UTF-8 text"
    elif not value:
        wrong = "is empty"
    elif size > MAX_VALUE_BYTES:
        wrong = f"is longer than {MAX_VALUE_BYTES // 1024} KiB"
    else:
        return
    raise UsageWrong(f"the value of {shown(name)} {wrong}")
