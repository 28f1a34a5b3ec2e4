"""The folder of reservations, and locks of files in it that every account may take."""

import errno
import fcntl
import os
import stat
import time

from ssh.shipped.common.reservations import TURN_FILE
from ssh.shipped.gpu_holder.refused import Refused

SHARED_FOLDER = "/var/lock/evalroom"
OWN_FOLDER = "~/.evalroom/gpus"
TURN_TIMEOUT_S = 30.0
MAX_TRIES = 20


def lock_folder(given):
    """Return the folder of the reservations; creates it if it is missing."""
    for folder in (given,) if given else (SHARED_FOLDER, OWN_FOLDER):
        folder, is_own = os.path.expanduser(folder), folder == OWN_FOLDER
        try:
            if is_own:
                os.makedirs(folder, 0o700, exist_ok=True)
            else:
                with_full_mode(os.mkdir, folder, 0o1777)
        except OSError as error:
            if error.errno != errno.EEXIST and given:
                raise Refused("%s can't be created: %s" % (folder, error.strerror)) from None
        # In a folder that all can write to, a link may lead anywhere; a configured one is fine.
        is_folder = os.path.isdir(folder) and (given or not os.path.islink(folder))
        if is_folder and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise Refused("GPUs can't be reserved: %s is not a folder that you can write to" % folder)


def with_full_mode(make, *given):
    """Create a file or folder with exactly this mode, whatever the umask."""
    before = os.umask(0)
    try:
        return make(*given)
    finally:
        os.umask(before)


def open_lock(path):
    """Return a descriptor of a file that all accounts may lock, whoever created it."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for _ in range(MAX_TRIES):
        try:
            # First without O_CREAT: in a sticky folder Linux refuses that for another's file.
            fd = os.open(path, flags)
        except FileNotFoundError:
            try:
                fd = with_full_mode(os.open, path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file")
    raise OSError(errno.EAGAIN, "it keeps being replaced")


def take_lock(path):
    """Return a descriptor with the lock; None: another process has it."""
    for _ in range(MAX_TRIES):
        fd = open_lock(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.lstat(path)):
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except FileNotFoundError:
            pass
        os.close(fd)  # another file took its place
    raise OSError(errno.EAGAIN, "it keeps being replaced")


def wait_for_turn(folder):
    """Wait until no other run picks GPUs; others then wait until the result is closed.

    Otherwise two runs that want several GPUs could each get some of them.
    """
    path, end = os.path.join(folder, TURN_FILE), time.monotonic() + TURN_TIMEOUT_S
    while True:
        try:
            fd = take_lock(path)
        except OSError as error:
            raise Refused("GPUs can't be reserved: %s: %s" % (path, error.strerror)) from None
        if fd is not None:
            return fd
        if time.monotonic() > end:
            raise Refused("GPUs can't be reserved: another process keeps %s locked" % path)
        time.sleep(0.05)
