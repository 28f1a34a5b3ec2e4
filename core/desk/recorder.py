"""The recorder: writes a room's events to a file, in a thread of its own."""

import errno
import os
import stat
import tempfile
import threading
from pathlib import Path
from queue import Full, Queue
from typing import IO, Self

from core.errors import StorageError
from core.event_codec import line_of
from core.events import Event
from core.named_file import open_other_end

MAX_QUEUED = 50_000
"""Events that may wait to be written; beyond that the recording stops, as it must be complete."""


class Recorder:
    """Writes every event it is called with, in order, as lines of JSON.

    An existing file is replaced. Only its owner can read it (mode 0600); a device or a pipe keeps
    its mode. A link that someone else left in its place is not followed. Lines are flushed at
    once, so a killed evalroom loses only the newest events.

    Args:
        path: The file.

    Raises:
        StorageError: The file can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            descriptor = _opened(path)
        except OSError as error:
            raise StorageError(f"{path} can't be written: {error.strerror}") from error
        self._file: IO[str] = os.fdopen(descriptor, "w", encoding="utf-8")
        self._events: Queue[Event | None] = Queue(MAX_QUEUED)
        self._error: str | None = None
        self._writer = threading.Thread(target=self._write, name="recorder", daemon=True)
        self._writer.start()

    def __call__(self, event: Event) -> None:
        """Queue an event; returns at once.

        Raises:
            StorageError: The recording has stopped: the disk failed or is too slow.
        """
        if self._error is None:
            try:
                self._events.put_nowait(event)
            except Full:
                self._error = "the disk is too slow"
        if self._error is not None:
            raise StorageError(f"{self._path} can't be written: {self._error}")

    def close(self) -> None:
        """Write the queued events and close the file."""
        if self._writer.is_alive():
            self._events.put(None)
        self._writer.join()

    def check(self) -> None:
        """Return if all that was recorded until `close` is in the file.

        Raises:
            StorageError: The recording has stopped before, and why.
        """
        if self._error is not None:
            raise StorageError(
                f"the recording {self._path} is not complete: {self._error}",
                "record to another disk",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self) -> None:
        event: Event | None = None
        try:
            with self._file as file:
                while (event := self._events.get()) is not None:
                    file.write(line_of(event))
                    if self._events.empty():
                        file.flush()
        except OSError as error:
            self._error = error.strerror or str(error)
            # After the last event nothing more comes: only closing the file failed.
            while event is not None:
                event = self._events.get()


def _opened(path: Path) -> int:
    """Open the file of a recording, and return its descriptor.

    A plain file is replaced by a new one, so that nothing is written into a file that has another
    name too.

    Raises:
        OSError: It can't be written, or is a link of another account.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return _new(path)
    if stat.S_ISLNK(found.st_mode):
        if found.st_uid not in {0, os.geteuid()}:
            raise OSError(errno.ELOOP, "it is a link that another account made")
        path = path.resolve()
        if not path.exists():
            return _new(path)
        found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        return open_other_end(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        Path(name).replace(path)
    except OSError:
        os.close(handle)
        Path(name).unlink(missing_ok=True)
        raise
    return handle


def _new(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)
