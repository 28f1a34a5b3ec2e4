"""Reservations: a locked file for each GPU; it names who has the GPU."""

import json
import os
import socket
import time

from ssh.shipped.common.proc import start_mark
from ssh.shipped.common.reservations import is_same_process
from ssh.shipped.common.users import user_name
from ssh.shipped.gpu_holder.lock_files import take_lock
from ssh.shipped.gpu_holder.refused import Refused

MAX_LOCK_BYTES = 4096
MAX_MANIFEST_BYTES = 256 * 1024
MANIFEST_FILE = "run.json"
MAX_PIDS = 64


def reserve(folder, gpus, wanted):
    """Lock `wanted` of these GPUs, all or none; return [(gpu, descriptor)]."""
    taken, others = [], []
    for gpu in gpus:
        if len(taken) == wanted:
            break
        fd, why = lock_gpu(lock_path(folder, gpu))
        if fd is not None and gpu["why"]:
            os.close(fd)
            fd, why = None, gpu["why"]
        if fd is None:
            others.append("GPU %d %s" % (gpu["index"], why))
        else:
            taken.append((gpu, fd))
    if len(taken) < wanted:
        for _, fd in taken:
            os.close(fd)
        counts = (wanted, "" if wanted == 1 else "s", len(taken), len(gpus))
        raise Refused("; ".join(["%d GPU%s requested, %d of %d free" % counts, *others]))
    return taken


def lock_gpu(path):
    """Return (descriptor, None), or (None, why this GPU can't be reserved)."""
    try:
        fd = take_lock(path)
    except OSError as error:
        return None, "can't be reserved: %s: %s" % (path, error.strerror)
    record = object_in(path, MAX_LOCK_BYTES)
    pids = record.get("pids")
    rows = list(pids.items())[:MAX_PIDS] if isinstance(pids, dict) else []
    if fd is not None and not any(is_same_process(pid, start) for pid, start in rows):
        return fd, None
    if fd is not None:
        os.close(fd)  # its holder was killed, but its eval is alive
    who = record.get("operator") or record.get("account")
    run = record.get("run")
    return None, "is reserved" + (
        " by run %s of %s" % (str(run)[:64], str(who)[:64]) if run and who else ""
    )


def lock_path(folder, gpu):
    return os.path.join(folder, "%s.lock" % (gpu["uuid"] or "index-%d" % gpu["index"]))


def object_in(path, max_bytes):
    """Return the JSON object in a file of any content; empty if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = json.loads(os.read(fd, max_bytes).decode("utf-8"))
        finally:
            os.close(fd)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def owner_record(run):
    """Return the record for our lock files; the current folder is the run's."""
    manifest = object_in(MANIFEST_FILE, MAX_MANIFEST_BYTES)
    return {
        "v": 1,
        "run": run,
        "operator": str(manifest.get("operator") or "")[:100],
        "account": user_name(os.getuid())[:100],
        "host": socket.gethostname()[:100],
        "at": time.time(),
    }


def write_owner(taken, record, pids):
    """Write into the lock files who has the GPUs: the run, and the processes that use them."""
    alive = {str(pid): start_mark(pid) for pid in pids}
    for gpu, fd in taken:
        full = dict(record, gpu=gpu["index"], uuid=gpu["uuid"], pids=alive)
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(full).encode("ascii"), 0)
