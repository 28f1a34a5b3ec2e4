"""The last view (open pane, sort, filter), kept between two starts. The config is never written.

It is a convenience: whatever is wrong with the file, the room opens.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from core.errors import StorageError
from storage.paths import write_private

_LIMIT = 256 * 1024
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe in its place must not be waited for


class ViewState:
    """The view's file: JSON, 0600, written as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._saved: bytes | None = None

    def load(self) -> Mapping[str, Any]:
        """Return what was saved; empty when there is nothing, or nothing readable."""
        try:
            with os.fdopen(os.open(self._path, _READING), "rb") as file:
                raw = file.read(_LIMIT + 1)
            value: object = json.loads(raw) if len(raw) <= _LIMIT else {}
        except (OSError, ValueError, RecursionError):
            return {}
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    def save(self, view: Mapping[str, Any]) -> bool:
        """Keep a view of plain JSON values; return whether it is on disk.

        The same view twice is written once. A full disk loses the view and nothing else.
        """
        try:
            raw = json.dumps(dict(view), ensure_ascii=True, allow_nan=False).encode()
            if len(raw) > _LIMIT:
                return False
            if raw != self._saved:
                write_private(self._path, raw)
                self._saved = raw
        except (StorageError, ValueError, TypeError, RecursionError):
            return False
        return True
