"""The folder of reservations, and our own lock files in it."""

import errno
import fcntl
import os
import sys
import time

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.reservations import TURN_FILE, open_folder, open_plain
from ssh.shipped.gpu_holder.refused import Refused

SHARED_FOLDER = "/var/lock/evalroom"
OWN_FOLDER = "~/.evalroom/gpus"
TURN_TIMEOUT_S = 10.0
READER_TIMEOUT_S = 0.5  # a program that only reads locks a file for a moment
MAX_TRIES = 20


def lock_folder(given):
    """Return a descriptor of the folder of the reservations.

    A missing folder is created: a configured one, our own one, and the shared one by root. Nobody
    else creates the shared one: other accounts would not trust it.
    """
    if given:
        return opened(given, 0o1777)
    try:
        return opened(SHARED_FOLDER, 0o1777 if os.geteuid() == 0 else None)
    except Refused as shared:
        fd = opened(OWN_FOLDER, 0o700)
        text = "evalroom: other accounts don't see that this run reserves GPUs: %s\n"
        sys.stderr.write(text % shared)
        return fd


def opened(folder, mode):
    """Return a descriptor of a folder; creates it with `mode`, if that is not None."""
    path = os.path.expanduser(folder)
    try:
        if mode == 0o700:
            os.makedirs(path, mode, exist_ok=True)
        elif mode is not None:
            with_full_mode(os.mkdir, path, mode)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise Refused("%s can't be created: %s" % (folder, error.strerror)) from None
    try:
        return open_folder(path)
    except Failed as error:
        raise Refused("GPUs can't be reserved: %s" % error) from None


def with_full_mode(make, *given, **more):
    """Create a file or folder with exactly this mode, whatever the umask."""
    before = os.umask(0)
    try:
        return make(*given, **more)
    finally:
        os.umask(before)


def lock_own(folder, base, names):
    """Return a descriptor of a lock file of ours, locked; None: another process of ours has it.

    Another account may hold the usual name, so that a new file gets a name that nobody can know
    before.

    Args:
        folder: The open folder.
        base: The GPU's part of the name.
        names: The names of that GPU's files.
    """
    for name in names:
        fd = open_plain(folder, name, os.O_RDWR)
        if fd is None:
            continue
        if os.fstat(fd).st_uid == os.geteuid():
            return locked(fd, folder, name)
        os.close(fd)
    for attempt in range(MAX_TRIES):
        name = "%s.lock" % base if attempt == 0 else "%s.%s.lock" % (base, os.urandom(4).hex())
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = with_full_mode(os.open, name, flags, 0o644, dir_fd=folder)
        except FileExistsError:
            continue
        return locked(fd, folder, name)
    raise OSError(errno.EAGAIN, "every name is in use")


def locked(fd, folder, name):
    """Lock an open file of ours; None: another process of ours has it, or it was replaced."""
    end = time.monotonic() + READER_TIMEOUT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            there = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if os.path.samestat(os.fstat(fd), there):
                return fd
            break
        except BlockingIOError:
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        except OSError:
            break
    os.close(fd)
    return None


def wait_for_turn(folder):
    """Wait until no other run picks GPUs; others then wait until the result is closed.

    So two runs that want several GPUs do not each get some of them. An account that never gives
    its turn up delays the others only: after `TURN_TIMEOUT_S` they go on without (None).
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = open_plain(folder, TURN_FILE, os.O_RDONLY)
    if fd is None:
        try:
            fd = with_full_mode(os.open, TURN_FILE, flags, 0o644, dir_fd=folder)
        except OSError:
            fd = open_plain(folder, TURN_FILE, os.O_RDONLY)
    end = time.monotonic() + TURN_TIMEOUT_S
    while fd is not None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(fd)
                return None
        except OSError:  # a network file system that wants a file to be open for writing
            os.close(fd)
            return None
        time.sleep(0.05)
    return fd
