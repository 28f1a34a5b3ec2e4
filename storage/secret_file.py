"""The secrets file (mode 0600): the names of all secrets, and the values that no keyring has."""

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

MAX_FILE_BYTES = 8 * 1024 * 1024
LOCK_TIMEOUT_S = 10.0
"""How long to wait for another evalroom instance that is writing, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecrets:
    """The content of the secrets file.

    Attributes:
        values: Secrets whose values are in the file, by name.
        in_keyring: Names of secrets whose values are in the keyring.
    """

    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    in_keyring: frozenset[str] = frozenset()


class _SecretFile(msgspec.Struct, frozen=True):
    v: int
    values: dict[str, str]
    in_keyring: list[str]


def read_secrets(path: Path) -> StoredSecrets:
    """Return the content of the secrets file; empty if the file does not exist.

    Raises:
        StorageError: The file can't be read, or other users can read it.
    """
    where = shown(str(path))
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return StoredSecrets()
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        why = f"{where} is a symbolic link" if is_link else f"can't read {where}: {error.strerror}"
        raise StorageError(why, "put a regular file in its place") from error
    with os.fdopen(handle, "rb") as file:
        _refuse_if_others_read(path, os.fstat(handle))
        raw = file.read(MAX_FILE_BYTES + 1)
    try:
        stored = msgspec.json.decode(raw, type=_SecretFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        stored = None
    if stored is None or stored.v != 1:  # the decoder's own error may quote a secret
        raise StorageError(
            f"{where} is damaged, or of another evalroom version",
            "move it away and enter the secrets again",
        )
    return StoredSecrets(
        values=MappingProxyType(dict(stored.values)), in_keyring=frozenset(stored.in_keyring)
    )


def _refuse_if_others_read(path: Path, found: os.stat_result) -> None:
    where = shown(str(path))
    if not stat.S_ISREG(found.st_mode):
        raise StorageError(f"{where} is not a regular file", "move it out of the way")
    if found.st_uid != os.geteuid():
        raise StorageError(f"{where} belongs to another user", "move it out of the way")
    if found.st_mode & 0o077:
        raise StorageError(
            f"other users can read {where} (mode {stat.S_IMODE(found.st_mode):04o})",
            f"run: chmod 600 {where}; then replace the secrets, because others may know them",
        )


def change_secrets(path: Path, change: Callable[[StoredSecrets], StoredSecrets]) -> None:
    """Replace the content of the secrets file with the result of `change`, under a lock.

    Raises:
        StorageError: As `read_secrets`; or the file can't be written, and is unchanged.
    """
    private_folder(path.parent)
    with _locked(path.with_suffix(".lock")):
        for left in path.parent.glob(f".{path.name}.*"):  # temporary files of a killed writer
            left.unlink(missing_ok=True)
        now = change(read_secrets(path))
        stored = _SecretFile(v=1, values=dict(now.values), in_keyring=sorted(now.in_keyring))
        write_private(path, msgspec.json.encode(stored))


@contextmanager
def _locked(path: Path) -> Generator[None]:
    private_file(path)
    end = time.monotonic() + LOCK_TIMEOUT_S
    with path.open("rb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    message = f"another evalroom instance holds the lock {shown(str(path))}"
                    raise StorageError(message, "quit that instance and try again") from None
                time.sleep(0.02)
            except OSError as error:
                message = f"can't lock {shown(str(path))}: {error.strerror}"
                raise StorageError(message) from error
        yield
