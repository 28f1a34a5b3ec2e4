"""Files and locks."""

import contextlib
import errno
import fcntl
import os
import shutil
import time

from ssh.shipped.common.cannot_do import CannotDo, not_written


@contextlib.contextmanager
def writing(path):
    """Turn an OSError into a CannotDo about `path`."""
    try:
        yield
    except OSError as error:
        raise not_written(path, error) from error


def remove(path):
    """Remove a file or a folder, even if parts of it are write-protected."""

    def unprotect(function, name, _):
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o700)
            os.chmod(name, 0o700)
            function(name)

    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, onerror=unprotect)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def lock(path, until):
    """Hold the lock of a file; yields its descriptor. Waits until `until`, monotonic seconds.

    Children that inherit the descriptor keep the lock, so that none keeps running unnoticed.
    """
    with writing(path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EINTR):
                    break  # a disk without locks: the steps that follow are atomic renames
            if time.monotonic() > until:
                raise CannotDo(
                    "another evalroom instance is fetching the same thing there",
                    "wait until it is done, then try again",
                )
            time.sleep(0.05)
        yield fd
    finally:
        os.close(fd)
