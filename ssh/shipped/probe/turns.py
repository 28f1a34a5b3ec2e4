"""Turns at an eval: at most one request in flight, among all probes of this user here.

A small file for each eval, in evalroom's own folder, is locked while a request is in flight. It
keeps what the reads cost, so that each probe knows what another one learned. A probe that dies
leaves its mark in it: its request counts until the connection has ended.
"""

import errno
import fcntl
import json
import os
import stat
import time

from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import age_of
from ssh.shipped.probe.changes import number
from ssh.shipped.probe.peers import connections_to
from ssh.shipped.probe.read_costs import ReadCosts, digest

FOLDER = "~/.evalroom/polls"
MAX_FILE_BYTES = 64 * 1024
MARK_BYTES = 64  # the first line: the request in flight, or blanks
KEPT_S = 2 * 86400.0  # files that nobody has written for so long are removed
MAX_PRUNED = 1000
BUSY = (errno.EAGAIN, errno.EACCES)
NOT_THERE = -1
STARTING_S = 300.0  # an eval that started less than this before may still load its model


class Turns:
    """The turns of one probe at one eval. Its thread alone calls these methods."""

    def __init__(self, pid, start):
        name = "%d-%s" % (pid, digest(str(start)))
        self.path = os.path.join(os.path.expanduser(FOLDER), name)
        self.start = str(start)
        self.costs = ReadCosts()
        self.fd = None  # None: not opened yet; NOT_THERE: it can't be written, nothing is shared
        self.written = None  # the bytes that this probe wrote or read last
        self.left = None  # connections of a request whose probe has died

    def open(self):
        """Open the file. Without it (a full disk, a read-only home), nothing is shared."""
        self.fd = NOT_THERE
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            fd = os.open(self.path, flags, 0o600)
        except OSError:
            return
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():
            self.fd = fd
        else:
            os.close(fd)

    def take(self, socket_path):
        """Take the turn and learn what others did; return since when another request blocks it.

        None: the turn is taken. Else it is a time of `time.monotonic`, 0.0 if unknown.
        """
        if self.fd is None:
            self.open()
        if self.fd == NOT_THERE:
            return None
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in BUSY:
                return self.read_mark()
            self.close()  # no locks on this file system
            return None
        began = self.learn(socket_path)
        if began is not None:
            self.release()
        return began

    def read_mark(self):
        """Return when the request in flight began; 0.0: unknown."""
        try:
            return mark_in(os.pread(self.fd, MARK_BYTES, 0))[0]
        except (OSError, TypeError):
            return 0.0

    def learn(self, socket_path):
        """Read the shared file; return since when a dead probe's request is in flight."""
        try:
            data = os.pread(self.fd, MAX_FILE_BYTES, 0)
        except OSError:
            return None
        if data == self.written:
            return None
        now, mark = time.monotonic(), mark_in(data[:MARK_BYTES])
        if data[MARK_BYTES:]:
            self.costs = ReadCosts.from_dict(decoded(data[MARK_BYTES:]), now)
        if mark is not None:
            if mark[0] <= now and self.is_left_in_flight(socket_path):
                return mark[0]
            self.count(mark[1], max(0.0, now - mark[0]), now)
        self.left = None
        self.write()
        return None

    def is_left_in_flight(self, socket_path):
        """Whether a connection from the time when a dead probe's mark was found still exists.

        A connection that the eval has not accepted yet has the inode 0, and gets another one.
        """
        there = connections_to(socket_path) if LINUX else set()
        if self.left is None or "0" in self.left:
            self.left = there
        else:
            self.left &= there
        return bool(self.left)

    def begin(self, kind):
        """Write that a request leaves now."""
        self.put(mark_of(time.monotonic(), kind), 0)

    def end(self, kind, took):
        """Count an answer, and give up the turn."""
        self.count(kind, took, time.monotonic())
        self.write()
        self.release()

    def count(self, kind, took, now):
        age = age_of(self.start)
        is_starting = age is not None and age - took < STARTING_S
        self.costs.answered(kind, took, now, is_starting=is_starting)

    def cancel(self):
        """Give up the turn; the request never left."""
        self.put(NO_MARK, 0)
        self.release()

    def write(self):
        """Write the costs, and then that no request is in flight."""
        data = json.dumps(self.costs.as_dict(), separators=(",", ":")).encode("ascii")
        self.written = None
        if self.put(data, MARK_BYTES, MARK_BYTES + len(data)) and self.put(NO_MARK, 0):
            self.written = NO_MARK + data

    def put(self, data, at, size=None):
        """Write into the file; return whether it succeeded. On a full disk it does not."""
        if self.fd is None or self.fd == NOT_THERE:
            return False
        try:
            written = os.pwrite(self.fd, data, at)
            if size is not None:
                os.ftruncate(self.fd, size)
        except OSError:
            return False
        return written == len(data)

    def release(self):
        if self.fd == NOT_THERE or self.fd is None:
            return
        try:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        except OSError:
            pass

    def close(self):
        if self.fd is not None and self.fd != NOT_THERE:
            os.close(self.fd)
        self.fd = NOT_THERE

    def forget(self):
        """Remove the file: the process is gone."""
        self.close()
        remove(self.path)


def mark_of(began, kind):
    line = json.dumps([round(began, 3), kind]).encode("ascii")
    return line[: MARK_BYTES - 1].ljust(MARK_BYTES - 1) + b"\n"


NO_MARK = b" " * (MARK_BYTES - 1) + b"\n"


def mark_in(line):
    """Return (began, kind) of the request in flight; None: no request."""
    value = decoded(line)
    if not isinstance(value, list) or len(value) != 2 or number(value[0]) is None:
        return None
    return float(value[0]), str(value[1])


def decoded(data):
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None


def prune():
    """Remove the files of processes that no probe has read for days."""
    folder = os.path.expanduser(FOLDER)
    try:
        names = os.listdir(folder)[:MAX_PRUNED]
    except OSError:
        return
    now = time.time()
    for name in names:
        path = os.path.join(folder, name)
        try:
            if now - os.lstat(path).st_mtime > KEPT_S:
                os.unlink(path)
        except OSError:
            continue


def remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass
