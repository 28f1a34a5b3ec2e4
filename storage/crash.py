"""Crash files: tracebacks for a bug report, without the values of local variables."""

import platform
import time
import traceback
from pathlib import Path

from core.errors import StorageError
from storage.paths import write_private

_MAX_FILES = 20
_MAX_REPORT_CHARS = 200_000


def crash_report(error: BaseException) -> str:
    """Return the traceback of an error, without the values of local variables."""
    return "".join(
        traceback.TracebackException.from_exception(error, capture_locals=False).format()
    )


def write_crash(folder: Path, report: str, version: str) -> Path | None:
    """Write a crash file (mode 0600) and return its path; None: it can't be written.

    Deletes the oldest files beyond the newest twenty.
    """
    head = f"evalroom {version}, Python {platform.python_version()}, {platform.platform()}\n\n"
    text = head + report[-_MAX_REPORT_CHARS:]
    path = folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 1_000_000_000:09}.txt"
    try:
        write_private(path, text.encode("utf-8", "backslashreplace"))
        for old in sorted(folder.glob("*.txt"))[:-_MAX_FILES]:
            old.unlink(missing_ok=True)
    except (StorageError, OSError):
        return None
    return path
