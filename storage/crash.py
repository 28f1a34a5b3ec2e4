"""Crash files: what went wrong, for who mends it. No value of a local variable is in them."""

import platform
import time
import traceback
from pathlib import Path

from core.errors import StorageError
from storage.paths import write_private

_KEPT = 20
_LONGEST = 200_000


def crash_report(error: BaseException) -> str:
    """Return an error and where it came from, without any value of a local variable."""
    return "".join(
        traceback.TracebackException.from_exception(error, capture_locals=False).format()
    )


def write_crash(folder: Path, report: str, version: str) -> Path | None:
    """Write a crash file (0600) and return it; None where even that fails.

    Older ones beyond twenty go.
    """
    head = f"evalroom {version}, Python {platform.python_version()}, {platform.platform()}\n\n"
    text = head + report[-_LONGEST:]
    path = folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 1_000_000_000:09}.txt"
    try:
        write_private(path, text.encode("utf-8", "backslashreplace"))
        for old in sorted(folder.glob("*.txt"))[:-_KEPT]:
            old.unlink(missing_ok=True)
    except (StorageError, OSError):
        return None
    return path
