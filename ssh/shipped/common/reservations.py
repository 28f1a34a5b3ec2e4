"""Reservations of GPUs: the folder, and lock files that name the processes that use a GPU.

The folder is opened once, and every file relative to it: who swaps the folder or a file for a
link gains nothing. A file counts for its owner alone: nobody else can remove it from a sticky
folder, or write to it.
"""

import errno
import json
import os
import re
import stat

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.namespaces import shares_our_pids
from ssh.shipped.common.proc import BOOT_ID, start_mark, stat_of, uid_of
from ssh.shipped.common.users import user_name

try:
    import fcntl
except ImportError:  # pragma: no cover - every machine we know has it
    fcntl = None

TURN_FILE = "turn.lock"  # held by a process that picks GPUs
LOCK_FILE = re.compile(r"(GPU-[0-9A-Za-z-]{1,80}|index-[0-9]{1,4})(?:\.[0-9a-f]{8})?\.lock\Z")
MAX_LOCK_BYTES = 4096
MAX_LOCK_FILES = 10000
MAX_OWNER_PIDS = 64
MAX_READS = 5
PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_folder(path):
    """Return a descriptor of the folder of reservations, if nobody else can replace files in it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | PLAIN)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Failed("%s is not a folder" % path) from None
        raise Failed("%s can't be opened: %s" % (path, error.strerror)) from None
    fault = folder_fault(path, os.fstat(fd))
    if fault is None and not os.access(path, os.W_OK | os.X_OK):
        fault = "%s is not a folder that you can write to" % path
    if fault is not None:
        os.close(fd)
        raise Failed(fault)
    return fd


def folder_fault(path, found):
    """Return why a folder can't be trusted; None: it can."""
    if found.st_uid not in (0, os.geteuid()):
        return "%s belongs to %s, not to root or to you" % (path, user_name(found.st_uid))
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        return "others can replace files in %s: it is not sticky" % path
    return None


def lock_files(folder):
    """Return the names of the lock files of each GPU in an open folder."""
    names = os.listdir(folder)
    if len(names) > MAX_LOCK_FILES:
        raise Failed("the folder of reservations holds over %d files" % MAX_LOCK_FILES)
    found = {}
    for name in sorted(names):
        match = LOCK_FILE.match(name)
        if match:
            found.setdefault(match.group(1), []).append(name)
    return found


def open_plain(folder, name, flags):
    """Return a descriptor of a plain file in an open folder; None: no such file."""
    try:
        fd = os.open(name, flags | PLAIN, dir_fd=folder)
    except OSError:
        return None
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        return fd
    os.close(fd)
    return None


def reservation_in(folder, name):
    """Return the record of a held reservation; None: nobody holds it by this file."""
    fd = open_plain(folder, name, os.O_RDONLY)
    if fd is None:
        return None
    try:
        is_locked = False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            is_locked = error.errno == errno.EWOULDBLOCK
        owner, record = os.fstat(fd).st_uid, record_in(fd)
    finally:
        os.close(fd)
    pids = record.get("pids")
    rows = list(pids.items())[:MAX_OWNER_PIDS] if isinstance(pids, dict) else []
    if not is_locked and not any(is_user_of(owner, pid, start) for pid, start in rows):
        return None
    return dict(record, account=user_name(owner))


def record_in(fd):
    """Return the JSON object in an open lock file; empty if it has none.

    A read beside a write may mix the old content and the new one: it is read again.
    """
    for _ in range(MAX_READS):
        try:
            data = os.pread(fd, MAX_LOCK_BYTES, 0)
            if not data.strip():
                return {}
            found = json.loads(data.decode("utf-8", "replace"))
        except OSError:
            return {}
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else {}
    return {}


def is_user_of(owner, pid, start):
    """Whether a process that the file of `owner` names is alive, and is that account's own."""
    if not is_same_process(pid, start):
        return False
    uid = uid_of(int(pid))
    return uid is None or uid == owner


def is_same_process(pid, start):
    """Whether the process that a reservation names (pid as text, start mark) is still alive.

    A process of another account that can't be read counts as the same one; one of a container
    does not, because its own start would have named the pid that it has there.
    """
    if not re.match(r"[1-9][0-9]{0,8}\Z", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another account's
    if not BOOT_ID or stat_of(int(pid)) is None:
        return True
    return start_mark(int(pid)) == start and shares_our_pids(int(pid))
