"""GPUs that runs have reserved.

`core/launch/preflight/gpu_reservations.py` of evalroom says how reservations are stored.
"""

import os
import time

from ssh.shipped.common.failures import Failed
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.reservations import (
    TURN_FILE,
    fcntl,
    lock_files,
    open_folder,
    open_plain,
    reservation_in,
)
from ssh.shipped.survey.folders import nearest_above
from ssh.shipped.survey.side_by_side import short

TURN_TIMEOUT_S = 2.0
MAX_RESERVED = 256


def read_reservations(folders):
    """Return the first of `folders` in which a run can reserve GPUs, and the reservations in it.

    `why` says why the folders before it can't be used; empty: it is the first.
    """
    faults = []
    is_shared = len(folders) > 1  # only root makes the folder of everybody
    for index, folder in enumerate(folders):
        full = at_home(folder)
        if not os.path.lexists(full):
            may_make = index > 0 or not is_shared or os.geteuid() == 0
            if may_make and can_be_made(full):
                return {"folder": folder, "held": [], "why": "; ".join(faults)}
            faults.append("%s does not exist" % folder)
            continue
        try:
            opened = open_folder(full)
        except Failed as error:
            faults.append(str(error))
            continue
        try:
            return {"folder": folder, "held": held_in(opened), "why": "; ".join(faults)}
        finally:
            os.close(opened)
    raise Failed("; ".join(faults))


def can_be_made(path):
    near = nearest_above(os.path.dirname(path))
    return os.path.isdir(near) and os.access(near, os.W_OK | os.X_OK)


def held_in(folder):
    """Return the held GPUs of an open folder, each once."""
    held = []
    turn = wait_for_turn(folder)
    try:
        for base, names in sorted(lock_files(folder).items())[:MAX_RESERVED]:
            records = (reservation_in(folder, name) for name in names)
            record = next((each for each in records if each is not None), None)
            if record is not None:
                held.append(dict(reported(record), name="%s.lock" % base))
    finally:
        if turn is not None:
            os.close(turn)
    return held


def wait_for_turn(folder):
    """Keep others from picking GPUs while the returned fd is open; None: it can't be kept."""
    fd = open_plain(folder, TURN_FILE, os.O_RDONLY)
    end = time.monotonic() + TURN_TIMEOUT_S
    while fd is not None:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            break
        except OSError:
            if time.monotonic() > end:
                os.close(fd)
                return None
            time.sleep(0.02)
    return fd


def reported(record):
    return {
        "run": short(record.get("run") or "", 64),
        "operator": short(record.get("operator") or "", 64),
        "account": short(record.get("account") or "", 64),
    }
