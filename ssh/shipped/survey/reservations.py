"""GPUs that runs have reserved.

`core/launch/preflight/gpu_reservations.py` of evalroom says how reservations are stored.
"""

import errno
import json
import os
import stat
import time

from ssh.shipped.common.failures import Failed, Stuck
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.reservations import TURN_FILE, is_same_process
from ssh.shipped.survey.folders import nearest_above
from ssh.shipped.survey.side_by_side import short

try:
    import fcntl
except ImportError:  # pragma: no cover - every machine we know has it
    fcntl = None

TURN_TIMEOUT_S = 2.0
MAX_LOCKS = 256
MAX_LOCK_BYTES = 4096


def read_reservations(folders):
    """Return the first of `folders` in which a run can reserve GPUs, and the reservations in it."""
    for folder in folders:
        full = at_home(folder)
        is_shared = len(folders) > 1  # a link in a folder of everybody leads anywhere
        is_folder = os.path.isdir(full) and not (is_shared and os.path.islink(full))
        if is_folder and os.access(full, os.W_OK | os.X_OK):
            return {"folder": folder, "held": held_in(full)}
        if not os.path.lexists(full) and can_be_made(full):
            return {"folder": folder, "held": []}
    if len(folders) == 1:
        raise Failed("%s is not a folder that you can write to" % folders[0])
    raise Failed("neither %s is a folder that you can write to" % " nor ".join(folders))


def can_be_made(path):
    near = nearest_above(os.path.dirname(path))
    return os.path.isdir(near) and os.access(near, os.W_OK | os.X_OK)


def held_in(full):
    held = []
    turn = wait_for_turn(os.path.join(full, TURN_FILE))
    try:
        for name in sorted(os.listdir(full))[:MAX_LOCKS]:
            if name.endswith(".lock") and name != TURN_FILE:
                found = read_lock(os.path.join(full, name))
                if found is not None:
                    held.append(dict(found, name=name))
    finally:
        if turn is not None:
            os.close(turn)
    return held


def wait_for_turn(path):
    """Keep others from picking GPUs while the returned fd is open; None: no run ever did."""
    fd = open_lock(path)
    end = time.monotonic() + TURN_TIMEOUT_S
    while fd is not None:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            break
        except OSError:
            if time.monotonic() > end:
                os.close(fd)
                raise Stuck("another process keeps %s locked" % path) from None
            time.sleep(0.02)
    return fd


def open_lock(path):
    """Return a descriptor of a plain file; None: it is not a plain file, or can't be read."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, flags)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def read_lock(path):
    """Return the holder of a GPU from its lock file; None: nobody holds it."""
    fd = open_lock(path)
    if fd is None:
        return None
    try:
        is_locked = False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            is_locked = error.errno == errno.EWOULDBLOCK
        try:
            record = json.loads(os.read(fd, MAX_LOCK_BYTES).decode("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            record = None
    finally:
        os.close(fd)
    record = record if isinstance(record, dict) else {}
    pids = record.get("pids")
    rows = list(pids.items())[:64] if isinstance(pids, dict) else []
    if not is_locked and not any(is_same_process(pid, start) for pid, start in rows):
        return None
    at = record.get("at")
    return {
        "run": short(record.get("run") or "", 64),
        "operator": short(record.get("operator") or "", 64),
        "account": short(record.get("account") or "", 64),
        "at": at if isinstance(at, (int, float)) and not isinstance(at, bool) else None,
    }
