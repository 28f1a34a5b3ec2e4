"""Sandboxes of evals that died on this host: the trace files that they left name them."""

import os

from ssh.shipped.common.namespaces import pid_namespace
from ssh.shipped.common.own_pids import FIRST_PID_NAMESPACE
from ssh.shipped.common.proc import read_file
from ssh.shipped.probe.dead_evals import file_marks, is_living, is_open, leftovers
from ssh.shipped.probe.network_mounts import is_on_network
from ssh.shipped.probe.trace_file import MAX_BACKLOG_BYTES, MAX_POLL_BYTES, TraceFile

EXPORTS = ("/var/lib/nfs/etab", "/proc/fs/nfsd/exports", "/etc/exports")
MAX_EXPORTS_BYTES = 1024 * 1024


class DeadSandboxes:
    """Remembers what it read of traces that have not changed since."""

    def __init__(self):
        self.cache = {}  # path -> (mark of the file, project -> sample)

    def holders(self, roots):
        """Return project -> (pid, start, task, sample id, epoch, False) of evals that died here.

        `roots`: data folders. One that another host may write to proves nothing: what looks dead
        from here may live there. Neither does any, if some processes of this host can't be seen.
        """
        found, kept = {}, {}
        if pid_namespace("self") != FIRST_PID_NAMESPACE:
            return found
        for root in sorted(roots):
            if is_on_network(root) or is_exported(root):
                continue
            for pid, left in leftovers(root).items():
                mark = file_marks([left.trace] if left.trace else [])
                if not mark or is_living(pid, mark):
                    continue
                before = self.cache.get(left.trace)
                if before is None or before[0] != mark:
                    if is_open({each[:2] for each in mark}):
                        continue  # by a process in a container, which has another pid here
                    before = (mark, ties_of(left.trace))
                kept[left.trace] = before
                for project, sample in before[1].items():
                    found[project] = (pid, "", *sample, False)
        self.cache = kept
        return found


def ties_of(path):
    """Return project -> sample of a trace; of a long one, only the end is read."""
    ties = {}
    try:
        trace = TraceFile(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), None, ties)
    except OSError:
        return ties
    try:
        for _ in range(MAX_BACKLOG_BYTES // MAX_POLL_BYTES + 1):
            trace.poll()
    except OSError:
        pass
    finally:
        trace.close()
    return ties


def is_exported(folder):
    """Whether this host exports a folder, as an NFS server."""
    place = os.path.realpath(folder)
    for path in EXPORTS:
        try:
            lines = read_file(path, MAX_EXPORTS_BYTES).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.split()
            point = words[0].strip('"').rstrip("/") if words else "#"
            if place == point or place.startswith(point + "/"):
                return True
    return False
