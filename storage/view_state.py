"""Stores the last view (open pane, sort, filter) between two starts.

A damaged file never stops the room from opening.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from core.errors import StorageError
from storage.paths import write_private

_MAX_BYTES = 256 * 1024
LOOK_BYTES = 2 * 1024 * 1024
"""Of a look at thousands of tasks."""
_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # does not block if the path is a pipe


class ViewState:
    """The file of the last view: JSON, mode 0600, replaced atomically.

    Args:
        path: The file.
        max_bytes: A larger object is neither written nor read.
    """

    def __init__(self, path: Path, max_bytes: int = _MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._saved: bytes | None = None

    def load(self) -> Mapping[str, Any]:
        """Return the saved view; empty if the file is missing or unreadable."""
        try:
            with os.fdopen(os.open(self._path, _READ_FLAGS), "rb") as file:
                raw = file.read(self._max_bytes + 1)
            value: object = json.loads(raw) if len(raw) <= self._max_bytes else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    def save(self, view: Mapping[str, Any]) -> bool:
        """Write a view of plain JSON values; return whether it is on disk.

        Writes nothing if the view has not changed. Never raises: a full disk only loses the view.
        """
        try:
            raw = json.dumps(dict(view), ensure_ascii=True, allow_nan=False).encode()
            if len(raw) > self._max_bytes:
                return False
            if raw != self._saved:
                write_private(self._path, raw)
                self._saved = raw
        except (StorageError, ValueError, TypeError, RecursionError):
            return False
        return True
