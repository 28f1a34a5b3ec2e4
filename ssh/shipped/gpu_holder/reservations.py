"""Reservations: a locked file for each GPU; it names who has the GPU."""

import json
import os
import socket
import time

from ssh.shipped.common.proc import start_mark
from ssh.shipped.common.reservations import (
    MAX_LOCK_BYTES,
    MAX_OWNER_PIDS,
    lock_files,
    reservation_in,
)
from ssh.shipped.common.users import user_name
from ssh.shipped.gpu_holder.lock_files import lock_own
from ssh.shipped.gpu_holder.refused import Refused

MAX_MANIFEST_BYTES = 256 * 1024
MANIFEST_FILE = "run.json"
NAME_TIMEOUT_S = 2.0  # how long a held GPU may have no name in its file: its run is leaving it


def reserve(folder, gpus, wanted):
    """Lock `wanted` of these GPUs, all or none; return [(gpu, descriptor)].

    Args:
        folder: A descriptor of the folder of reservations.
        gpus: All GPUs.
        wanted: How many.
    """
    taken, others = [], []
    named_by = time.monotonic() + NAME_TIMEOUT_S
    for gpu in gpus:
        if len(taken) == wanted:
            break
        fd, why = (None, gpu["why"]) if gpu["why"] else lock_gpu(folder, gpu, named_by)
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


def lock_gpu(folder, gpu, named_by):
    """Return (descriptor, None), or (None, why this GPU can't be reserved).

    A lock without a name belongs to a run that leaves the GPU at this moment. Until `named_by`
    (monotonic time) this waits for the GPU to become free, or for the name of its next run.
    """
    base = lock_base(gpu)
    while True:
        try:
            names = lock_files(folder).get(base, [])
            record = held_by(folder, names)
            if record is None:
                fd = lock_own(folder, base, names)
                if fd is not None:
                    # The lock first, the others' locks next: of two that pick at once and don't
                    # take turns, each sees the other's.
                    others = lock_files(folder).get(base, [])
                    record = held_by(folder, others, fd)
                    if record is None:
                        return fd, None
                    os.close(fd)
        except OSError as error:
            return None, "can't be reserved: %s" % error.strerror
        run = (record or {}).get("run")
        who = (record or {}).get("operator") or (record or {}).get("account")
        if run and who:
            return None, "is reserved by run %s of %s" % (str(run)[:64], str(who)[:64])
        if time.monotonic() > named_by:
            return None, "is reserved by %s" % who if who else "is reserved"
        time.sleep(0.02)


def held_by(folder, names, own=None):
    """Return the record of the first of these files that holds the GPU; None: none of them does.

    Args:
        folder: The open folder.
        names: The files of one GPU.
        own: A descriptor of our own file, which does not count.
    """
    for name in names:
        if own is not None and is_file(folder, name, own):
            continue
        record = reservation_in(folder, name)
        if record is not None:
            return record
    return None


def is_file(folder, name, fd):
    try:
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def lock_base(gpu):
    return gpu["uuid"] or "index-%d" % gpu["index"]


def manifest_of_run():
    """Return the manifest of the run in whose folder this runs; empty if it has none."""
    try:
        with open(MANIFEST_FILE, "rb") as file:
            found = json.loads(file.read(MAX_MANIFEST_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def owner_record(run):
    """Return the record for our lock files; the current folder is the run's."""
    manifest = manifest_of_run()
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
    alive = {str(pid): start_mark(pid) for pid in sorted(pids)[:MAX_OWNER_PIDS]}
    for gpu, fd in taken:
        full = dict(record, gpu=gpu["index"], uuid=gpu["uuid"], pids=alive)
        os.pwrite(fd, json.dumps(full).encode("ascii").ljust(MAX_LOCK_BYTES), 0)
