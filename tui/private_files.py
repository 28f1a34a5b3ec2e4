"""Files that an operator asks for: for them alone, and never over another by accident."""

import os
import tempfile
from pathlib import Path

_PRIVATE = 0o600


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet; only the operator can read it.

    Raises:
        FileExistsError: Something is there; it is untouched.
        OSError: It can't be written; nothing is left behind.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in another's place, as a whole; a link there is replaced, not followed.

    Raises:
        OSError: It can't be written; what was there stays.
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
