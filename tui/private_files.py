"""Writes files that only the operator can read."""

import os
import tempfile
from pathlib import Path

_PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_new(path: Path, content: bytes) -> None:
    """Write a new file; only the operator can read it.

    Raises:
        FileExistsError: The file exists already; it is unchanged.
        OSError: The file can't be written; nothing is left behind.
    """
    handle = os.open(path, _NEW, _PRIVATE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically; a symbolic link is replaced, not followed.

    Raises:
        OSError: The file can't be written; the old one stays.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
