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
MAX_READS = 5
NAME_TIMEOUT_S = 2.0  # how long a held GPU may have no name in its file: its run is leaving it


def reserve(folder, gpus, wanted):
    """Lock `wanted` of these GPUs, all or none; return [(gpu, descriptor)]."""
    taken, others = [], []
    named_by = time.monotonic() + NAME_TIMEOUT_S
    for gpu in gpus:
        if len(taken) == wanted:
            break
        fd, why = lock_gpu(lock_path(folder, gpu), named_by)
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


def lock_gpu(path, named_by):
    """Return (descriptor, None), or (None, why this GPU can't be reserved).

    A lock without a name belongs to a run that leaves the GPU at this moment. Until `named_by`
    (monotonic time) this waits for the GPU to become free, or for the name of its next run.
    """
    while True:
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
        if run and who:
            return None, "is reserved by run %s of %s" % (str(run)[:64], str(who)[:64])
        if time.monotonic() > named_by:
            return None, "is reserved"
        time.sleep(0.02)


def lock_path(folder, gpu):
    return os.path.join(folder, "%s.lock" % (gpu["uuid"] or "index-%d" % gpu["index"]))


def object_in(path, max_bytes):
    """Return the JSON object in a file; empty if it has none.

    A read beside a write may mix the old content and the new one: it is read again.
    """
    for _ in range(MAX_READS):
        try:
            data = bytes_in(path, max_bytes)
            if not data.strip():
                return {}
            found = json.loads(data.decode("utf-8"))
        except OSError:
            return {}
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else {}
    return {}


def bytes_in(path, max_bytes):
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(fd, max_bytes)
    finally:
        os.close(fd)


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
    """Write into the lock files who has the GPUs: the run, and the processes that use them.

    Spaces fill each file to its full size, so that one write replaces the old content: the file
    always has the name, even if this process is killed or the disk is full.
    """
    alive = {str(pid): start_mark(pid) for pid in sorted(pids)[:MAX_PIDS]}
    for gpu, fd in taken:
        full = dict(record, gpu=gpu["index"], uuid=gpu["uuid"], pids=alive)
        os.pwrite(fd, json.dumps(full).encode("ascii").ljust(MAX_LOCK_BYTES), 0)
