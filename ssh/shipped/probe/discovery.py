"""Finds the Inspect processes of this user by their sockets, records and command lines."""

import os
import time

from ssh.shipped.common.inspect_commands import runs_evals
from ssh.shipped.common.namespaces import CONTAINED, place_of
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, environ_of, start_mark, stat_of
from ssh.shipped.probe.liveness import start_of, start_time_of
from ssh.shipped.probe.peers import CLOCK_SLACK_S, Peers, bound_sockets
from ssh.shipped.probe.records import Records, data_root

SCAN_EVERY_S = 5.0
SOCKETS_EVERY_S = 2.0  # while an eval has no record yet
YOUNG_S = 15.0  # a younger process is read in each scan: it may still exec something else
RESCAN_OLD_S = 30.0
MAX_CONTAINED = 100
LONG_AGO = -1e9
VERBS = {"inspect": ("eval", "eval-set", "eval-retry", "score"), "flow": ("run",)}


class Found:
    """A process that was found now.

    `record`: the record of the socket at which it listens, or None. `place`: HERE, CONTAINED or
    UNREAD. `by_name`: its command line says that it is Inspect. `is_cut_off`: the file of the
    socket was removed.
    """

    def __init__(self, record, place, by_name, is_cut_off=False):
        self.record = record
        self.place = place
        self.by_name = by_name
        self.is_cut_off = is_cut_off


class Discovery:
    """Finds processes; remembers the owners of sockets and the command lines that it read."""

    def __init__(self, data_dir):
        self.given = os.path.join(os.path.expanduser(data_dir), "inspect_ai") if data_dir else None
        self.root = self.given or data_root(os.environ)
        self.records = Records()
        self.peers = Peers()
        self.seen = {}  # pid -> (first seen, looked at, verdict)
        self.scanned_at = self.sockets_at = LONG_AGO
        self.bound = []  # paths of sockets that are bound outside our own data folder
        self.named = {}  # pid -> (start, place), of processes that are Inspect by name
        self.uid = os.getuid()

    def find(self):
        """Return all processes found now: (pid, start) -> Found."""
        found, unowned = {}, {}
        named = self.running()
        for record in self.all_records():
            owner = self.peers.owner(record)
            if owner is None:
                unowned[record["pid"]] = record
                continue
            found[owner] = Found(record, place_of(owner[0]), is_named(named, owner))
        for path in self.bound:
            owner = self.peers.owner_of_removed(path)
            if owner is not None and owner not in found:
                record = self.records.of_socket(path)
                by_name = is_named(named, owner)
                found[owner] = Found(record, place_of(owner[0]), by_name, is_cut_off=True)
        for pid, (start, place) in named.items():
            key = (pid, start)
            if key in found or start_of(pid, None) != start:
                continue
            record = without_claims(unowned.get(pid)) if place != CONTAINED else None
            if record is None and not self.is_in_given_folder(pid):
                continue
            found[key] = Found(record, place, True)
        return limited(found)

    def all_records(self):
        """Return the records of our data folder, and those of other bound sockets."""
        records = self.records.read(self.root)
        if LINUX:
            now, waits = time.monotonic(), len(self.named) > len(records)
            if now - self.sockets_at >= (SOCKETS_EVERY_S if waits else SCAN_EVERY_S):
                self.sockets_at = now
                self.bound = [path for _, path in bound_sockets() if self.is_looked_at(path)]
            there = {record["socket_path"] for record in records}
            records = records + [
                self.records.of_socket(path) for path in self.bound if path not in there
            ]
        return records

    def is_looked_at(self, path):
        """Whether a socket is in the configured data folder; without one, all are looked at."""
        if self.given is None:
            return True
        return is_same_folder(os.path.dirname(os.path.dirname(path)), self.given)

    def is_in_given_folder(self, pid):
        """Whether a process without a record would use the configured data folder."""
        if self.given is None:
            return True
        return is_same_folder(data_root(environ_of(pid)), self.given)

    def running(self):
        """Return pid -> (start, place) of this user's processes that are Inspect by name."""
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
                start, parents[pid] = verdict
                named[pid] = (start, place_of(pid))
        self.seen = seen
        # A child that an eval forks has the same command line, but is not an eval.
        self.named = {pid: each for pid, each in named.items() if parents[pid] not in named}
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


def is_named(named, owner):
    """Whether (pid, start) is a process that is Inspect by name."""
    return named.get(owner[0], (None,))[0] == owner[1]


def is_same_folder(one, other):
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(other)


def without_claims(record):
    """Return the part of a record about its socket, which nobody answers.

    It only explains why that process can't be reached. None: the pid in it was reused.
    """
    if record is None:
        return None
    began = start_time_of(record["pid"])
    if began is not None and began > (record["started_at"] or began) + CLOCK_SLACK_S:
        return None
    return dict(record, run_id=None, api_version=None, started_at=None)


def limited(found):
    """Return the processes, with at most MAX_CONTAINED that are in containers."""
    contained = [key for key, each in found.items() if each.place == CONTAINED]
    dropped = set(sorted(contained)[MAX_CONTAINED:])
    return {key: each for key, each in found.items() if key not in dropped}
