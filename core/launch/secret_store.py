"""The port of the secret store, and the rules for names and values of secrets.

A value is entered once and never shown again. Specs, plans and journals hold only names.
"""

import re
from collections.abc import Collection, Mapping
from typing import Literal, Protocol

from core.errors import UsageWrong
from core.text import shown

MAX_VALUE_BYTES = 64 * 1024
"""Longest value. Linux limits a variable, name and value, to 128 KiB."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

KeptIn = Literal["keyring", "file"]


class SecretStore(Protocol):
    """The secrets of an operator. No call blocks; each ends within about a minute."""

    async def names(self) -> Mapping[str, KeptIn]:
        """Return the names, sorted, each with where its value is stored.

        Raises:
            StorageError: The store can't be read.
        """
        ...

    async def open(self, names: Collection[str]) -> Mapping[str, str]:
        """Return the values of these names.

        Raises:
            SecretMissing: A secret is not stored.
            StorageError: The store can't be read: the keyring is locked, the file is not private.
        """
        ...

    async def set(self, name: str, value: str) -> KeptIn:
        """Store a value in place of the old one; return where it is stored.

        Raises:
            UsageWrong: See `check_name` and `check_value`.
            StorageError: The value can't be stored; the old one stays.
        """
        ...

    async def delete(self, name: str) -> None:
        """Delete a secret.

        Raises:
            SecretMissing: No secret has this name.
            StorageError: It can't be deleted.
        """
        ...


def check_name(name: str) -> None:
    """Check the name of a secret. The message never repeats it: it may be a misplaced value.

    Raises:
        UsageWrong: The name is invalid.
    """
    if not _NAME.fullmatch(name):
        raise UsageWrong(
            "invalid secret name: use letters, digits and _, and do not start with a digit",
            "give only the name; evalroom asks for the value, or reads it from standard input",
        )


def check_value(name: str, value: str) -> None:
    """Check that a variable can hold the value.

    Raises:
        UsageWrong: The value is empty, too long, not UTF-8, or has a NUL in it.
    """
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        size = -1
    if size < 0 or "\0" in value:
        wrong = "contains a NUL, or is not UTF-8 text"
    elif not value:
        wrong = "is empty"
    elif size > MAX_VALUE_BYTES:
        wrong = f"is longer than {MAX_VALUE_BYTES // 1024} KiB"
    else:
        return
    raise UsageWrong(f"the value of {shown(name)} {wrong}")
