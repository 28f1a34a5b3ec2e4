"""A lock file: only one evalroom instance at a time creates, migrates or moves the history.

SQLite's own locks do not cover this: while one instance sets the journal mode of a new file,
another gets "locked" at once, or takes the half-made file for a damaged one.
"""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

_RETRY_EVERY_S = 0.02
_LOCKED_ERRNOS = {errno.EACCES, errno.EAGAIN}


@asynccontextmanager
async def open_lock(path: Path, timeout: float) -> AsyncGenerator[None]:
    """Hold the lock for opening the file at `path` during the block.

    The block also runs if the lock can't be taken: the folder is read-only, the file system has no
    locks, or another instance holds it for longer than `timeout` seconds. SQLite then reports the
    problem.
    """
    lock = _open_file(path.with_name(f"{path.name}.lock"))
    try:
        if lock is not None:
            await _acquire(lock, timeout)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _open_file(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


async def _acquire(lock: int, timeout: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _LOCKED_ERRNOS or loop.time() >= until:
                return
        else:
            return
        await asyncio.sleep(_RETRY_EVERY_S)
