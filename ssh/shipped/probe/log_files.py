"""Reads a log as a file, for a computer that has an Inspect where this machine has none."""

import os
import stat

from ssh.shipped.common.failures import Failed


def read_log_file(path, max_bytes):
    """Return the bytes of a regular .eval or .json file; follows no link at its end.

    Raises Failed if it is another kind of file, larger than `max_bytes`, or can't be read.
    """
    if not os.path.isabs(path) or not path.endswith((".eval", ".json")):
        raise Failed("it is not the path of a log")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Failed(error.strerror or "it can't be opened") from error
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        os.close(fd)
        raise Failed("it is not a regular file")
    with os.fdopen(fd, "rb") as file:
        if found.st_size > max_bytes:
            raise Failed("it has %d MiB, more than %d" % (found.st_size >> 20, max_bytes >> 20))
        try:
            return file.read(max_bytes)
        except OSError as error:
            raise Failed(error.strerror or "it can't be read") from error
