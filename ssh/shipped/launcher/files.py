"""Files of runs. Their content is untrusted: anybody may have written it."""

import errno
import json
import os
import stat

from ssh.shipped.common.cannot_do import not_written

TAIL_BYTES = 4096


def write_private(path, data):
    """Write a new file with mode 0600, and wait until it is on disk."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        fd = os.open(path, flags, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise not_written(path, error) from error


def open_file(path):
    """Open a regular file to read it; raises OSError. A pipe or a device might never answer."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(fd, "rb")


def head_of(path, max_bytes):
    """Return the first bytes of a file; empty if it can't be read."""
    try:
        with open_file(path) as file:
            return file.read(max_bytes)
    except OSError:
        return b""


def tail_of(path, max_bytes=TAIL_BYTES):
    """Return the text at the end of a file; empty if it can't be read."""
    try:
        with open_file(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - max_bytes))
            return file.read(max_bytes).decode("utf-8", "replace")
    except OSError:
        return ""


def json_of(text):
    """Return the value of a JSON text; None: it is not JSON, or nested too deep."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
