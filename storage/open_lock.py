"""One evalroom at a time opens the history: to make it, to bring it to shape, to move it aside.

SQLite's own locks do not cover this: while one sets the journal mode of a new file, another is
told at once that it is locked, or takes what it sees for broken.
"""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

_AGAIN = 0.02
_HELD = {errno.EACCES, errno.EAGAIN}


@asynccontextmanager
async def alone(path: Path, patience: float) -> AsyncGenerator[None]:
    """Hold the right to open the file at `path` for the block.

    Where the right can't be had (a folder that can't be written, a file system without locks,
    or another that holds it for longer than `patience` seconds), the block runs all the same:
    SQLite then tells what is wrong.
    """
    lock = _opened(path.with_name(f"{path.name}.lock"))
    try:
        if lock is not None:
            await _lock(lock, patience)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


async def _lock(lock: int, patience: float) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + patience
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _HELD or loop.time() >= until:
                return
        else:
            return
        await asyncio.sleep(_AGAIN)
