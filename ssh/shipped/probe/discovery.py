"""Finds the Inspect processes of this user by their records and command lines."""

import os
import re
import time

from ssh.shipped.common.inspect_commands import runs_evals
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, environ_of, read_file, start_mark, stat_of
from ssh.shipped.probe.control_socket import Connection, NoAnswer, check_socket
from ssh.shipped.probe.liveness import start_of, start_time_of
from ssh.shipped.probe.records import Records, data_root

SCAN_EVERY_S = 5.0
YOUNG_S = 15.0  # a younger process is read in each scan: it may still exec something else
RESCAN_OLD_S = 30.0
ROOT_EVERY_S = 2.0
CLOCK_SLACK_S = 10.0
LONG_AGO = -1e9
VERBS = {"inspect": ("eval", "eval-set", "eval-retry", "score"), "flow": ("run",)}


class Discovery:
    """`known`: the processes that the desk knows, by (pid, start)."""

    def __init__(self, known, data_dir):
        self.known = known
        self.given = os.path.join(os.path.expanduser(data_dir), "inspect_ai") if data_dir else None
        self.root = self.given or data_root(os.environ)
        self.records = Records()
        self.seen = {}  # pid -> (first seen, looked at, verdict)
        self.scanned_at = LONG_AGO
        self.roots = {}  # pid -> (looked at, data folder), of processes without a record
        self.named = {}  # pid -> start, of processes that are Inspect by their command line
        self.uid = os.getuid()

    def find(self):
        """Return all processes found now: key -> (record or None, found, is Inspect by name)."""
        found = {}
        for pid, record in self.records.read(self.root).items():
            start = start_of(pid, record["started_at"])
            if start is None:
                continue
            if (pid, start) not in self.known and is_another(record):
                continue
            found[(pid, start)] = (record, "record", False)
        sockets = None
        if len(self.roots) > 1000:
            self.roots.clear()
        for pid, start in self.running().items():
            key = (pid, start)
            if key in found:
                found[key] = (found[key][0], "record", True)
                continue
            if start_of(pid, None) != start:
                continue
            known = self.known.get(key)
            root = known.root if known is not None and known.root else None
            record = None
            if root is None:
                now = time.monotonic()
                looked, root = self.roots.get(pid, (LONG_AGO, None))
                if now - looked > ROOT_EVERY_S:
                    if sockets is None:
                        sockets = control_sockets()
                    root = sockets.get(pid) or data_root(environ_of(pid))
                    self.roots[pid] = (now, root)
            if root != self.root:
                record = self.records.read(root).get(pid)
            if self.given is not None and os.path.realpath(root) != os.path.realpath(self.given):
                continue
            found[key] = (record, "running", True)
        return found

    def running(self):
        """Return pid -> start of this user's processes that are Inspect by name."""
        now = time.monotonic()
        if not LINUX or now - self.scanned_at < SCAN_EVERY_S:
            return self.named
        self.scanned_at = now
        named, parents, seen = {}, {}, {}
        try:
            names = os.listdir("/proc")
        except OSError:
            return self.named
        for name in names:
            if not name.isdigit():
                continue
            pid = int(name)
            first, looked, verdict = self.seen.get(pid, (now, LONG_AGO, None))
            if now - looked > (0.0 if now - first < YOUNG_S else RESCAN_OLD_S) or verdict:
                verdict = self.verdict(pid)
                looked = now
            seen[pid] = (first, looked, verdict)
            if verdict:
                named[pid], parents[pid] = verdict
        self.seen = seen
        # A child that an eval forks has the same command line, but is not an eval.
        self.named = {pid: start for pid, start in named.items() if parents[pid] not in named}
        return self.named

    def verdict(self, pid):
        """Return (start, parent pid) of a process that runs evals."""
        try:
            if os.stat("/proc/%d" % pid).st_uid != self.uid:
                return None
        except OSError:
            return None
        argv = argv_of(pid)
        if not argv or not runs_evals(argv, VERBS):
            return None
        found, start = stat_of(pid), start_mark(pid)
        return None if found is None or start is None else (start, found[1])


def is_another(record):
    """Whether the running process with that pid is younger than the record: a reused pid."""
    if not LINUX or record["started_at"] is None:
        return False
    started_at = start_time_of(record["pid"])
    if started_at is None or started_at <= record["started_at"] + CLOCK_SLACK_S:
        return False
    # Clocks get corrected, so only a socket without an answer from that pid proves it.
    try:
        check_socket(record["socket_path"], record["control_dir"])
        connection = Connection(record["socket_path"])
    except NoAnswer:
        return True
    try:
        return connection.peer_pid() != record["pid"]
    except OSError:
        return False
    finally:
        connection.close()


def control_sockets():
    """Return the data folders of the control sockets that are bound on this machine, by pid."""
    found = {}
    try:
        data = read_file("/proc/net/unix", 8 * 1024 * 1024)
    except OSError:
        return found
    for match in re.finditer(rb"(/\S*/inspect_ai)/control/(\d+)\.sock$", data, re.MULTILINE):
        found[int(match.group(2))] = os.fsdecode(match.group(1))
    return found
