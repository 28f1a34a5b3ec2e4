"""The file of secrets, 0600: values where there is no keyring, and which names a keyring has."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec

from core.errors import StorageError
from core.text import shown
from storage.paths import private_file, private_folder, write_private

SIZE_LIMIT = 8 * 1024 * 1024
TURN = 10.0
"""Seconds that one evalroom waits for another that writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the file says.

    Attributes:
        values: The secrets that it holds itself.
        in_keyring: Names of those that the keyring holds.
    """

    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    in_keyring: frozenset[str] = frozenset()


class _File(msgspec.Struct, frozen=True):
    v: int
    values: dict[str, str]
    in_keyring: list[str]


def read_secrets(path: Path) -> Kept:
    """Return what is kept; nothing where there is no file.

    Raises:
        StorageError: It is no private file of the operator's, or can't be read.
    """
    where = shown(str(path))
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Kept()
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        why = "is a symbolic link" if is_link else f"can't be read: {error.strerror}"
        raise StorageError(f"{where} {why}", "put a file in its place") from error
    with os.fdopen(handle, "rb") as file:
        _refuse_what_others_see(path, os.fstat(handle))
        raw = file.read(SIZE_LIMIT + 1)
    try:
        told = msgspec.json.decode(raw, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = None
    if told is None or told.v != 1:  # no error of the decoder's goes on: it may quote
        raise StorageError(
            f"{where} is no file of secrets that this evalroom knows",
            "move it away, and enter the secrets again",
        )
    return Kept(values=MappingProxyType(dict(told.values)), in_keyring=frozenset(told.in_keyring))


def _refuse_what_others_see(path: Path, found: os.stat_result) -> None:
    where = shown(str(path))
    if not stat.S_ISREG(found.st_mode):
        raise StorageError(f"{where} is no file", "move it out of the way")
    if found.st_uid != os.geteuid():
        raise StorageError(f"{where} belongs to another user", "move it out of the way")
    if found.st_mode & 0o077:
        raise StorageError(
            f"{where} can be read by others (mode {stat.S_IMODE(found.st_mode):04o})",
            f"chmod 600 {where}; who has read it knows the secrets, so enter new ones",
        )


def change_secrets(path: Path, change: Callable[[Kept], Kept]) -> None:
    """Put what `change` returns in the place of what is kept; one evalroom at a time.

    Raises:
        StorageError: As `read_secrets`; or it can't be written, and is as it was.
    """
    private_folder(path.parent)
    with _turn(path.with_suffix(".lock")):
        for left in path.parent.glob(f".{path.name}.*"):  # of a writer that was killed
            left.unlink(missing_ok=True)
        now = change(read_secrets(path))
        told = _File(v=1, values=dict(now.values), in_keyring=sorted(now.in_keyring))
        write_private(path, msgspec.json.encode(told))


@contextmanager
def _turn(path: Path) -> Generator[None]:
    private_file(path)
    end = time.monotonic() + TURN
    with path.open("rb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    said = f"another evalroom keeps {shown(str(path))} locked"
                    raise StorageError(said, "end that one") from None
                time.sleep(0.02)
            except OSError as error:
                said = f"{shown(str(path))} can't be locked: {error.strerror}"
                raise StorageError(said) from error
        yield
