"""Opens files that a person named: a config, a spec, a recording. Any of them may be a pipe."""

import contextlib
import errno
import os
import select
import stat
from pathlib import Path
from typing import BinaryIO

PIPE_TIMEOUT_S = 5.0
"""How long the first data of a pipe may take, seconds."""


def open_to_read(path: Path) -> BinaryIO:
    """Open a file, or a pipe that some program writes to.

    Raises:
        OSError: It can't be opened; it is a folder; or nothing came from a pipe within
            `PIPE_TIMEOUT_S`.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with contextlib.ExitStack() as undo:
        undo.callback(os.close, handle)
        _check(handle, path)
        undo.pop_all()
    os.set_blocking(handle, True)
    return os.fdopen(handle, "rb")


def _check(handle: int, path: Path) -> None:
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISFIFO(mode):
        return
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    if not waiting.poll(1000 * PIPE_TIMEOUT_S):
        why = f"it is a pipe, and no program wrote to it within {PIPE_TIMEOUT_S:.0f} s"
        raise TimeoutError(errno.ETIMEDOUT, why, str(path))


def open_other_end(path: Path) -> int:
    """Open a device, or a pipe that some program reads, to write; return a descriptor.

    Raises:
        OSError: It can't be opened, or nobody reads the pipe.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:
            why = "it is a pipe or a socket that no program reads"
            raise OSError(errno.ENXIO, why, str(path)) from error
        raise
    os.set_blocking(handle, True)
    return handle
