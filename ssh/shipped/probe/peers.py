"""The process at the other end of a control socket: only that one can own a record."""

import os
import re

from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import read_file
from ssh.shipped.probe.control_socket import Connection, NoAnswer, checked_socket
from ssh.shipped.probe.liveness import start_of, start_time_of

CLOCK_SLACK_S = 10.0
MAX_SOCKETS = 1000
MAX_TABLE_BYTES = 16 * 1024 * 1024
MAX_DESCRIPTORS = 10_000
SOCKET_LINE = re.compile(
    rb"^\S+: [0-9A-F]+ [0-9A-F]+ ([0-9A-F]{8}) [0-9A-F]+ [0-9A-F]+ +([0-9]+) "
    rb"(/.*/inspect_ai/control/[0-9]+\.sock)$",
    re.MULTILINE,
)
LISTENING = 0x10000


class Peers:
    """Finds the owners of sockets; asks a socket again only if it or its owner changed."""

    def __init__(self):
        self.known = {}  # path -> (mark of the socket's file, pid, start)
        self.uid = os.getuid()

    def owner(self, record):
        """Return (pid, start) of the process that listens at a record's socket.

        None: nobody answers there who can be seen from here and who runs as this user.
        """
        try:
            path = checked_socket(record["socket_path"], record["control_dir"])
            found = os.lstat(path)
        except (NoAnswer, OSError):
            return None
        mark = (found.st_dev, found.st_ino, found.st_ctime_ns)
        known = self.known.get(path)
        if known is not None and known[0] == mark and start_of(known[1], None) == known[2]:
            return known[1], known[2]
        if len(self.known) > MAX_SOCKETS:
            self.known.clear()
        self.known.pop(path, None)
        pid = self.listener(path)
        start = start_of(pid, record["started_at"]) if pid else None
        if start is None or is_younger(pid, path, record["started_at"]):
            return None
        if LINUX:  # elsewhere, a start mark does not prove that the process is the same
            self.known[path] = (mark, pid, start)
        return pid, start

    def owner_of_removed(self, path):
        """Return (pid, start) of this user's process that listens at a path whose file is gone.

        Its pid is in the socket's name; None: the file is there, or that process does not hold it.
        """
        pid = int(os.path.basename(path).partition(".")[0] or 0)
        try:
            is_ours = os.stat("/proc/%d" % pid).st_uid == self.uid
        except (OSError, OverflowError):
            return None
        if not is_ours or os.path.lexists(path):
            return None
        start = start_of(pid, None)
        return (pid, start) if start is not None and is_held(pid, path) else None

    def listener(self, path):
        """Return the pid of the process of this user that listens at a path; None: nobody."""
        try:
            connection = Connection(path)
        except NoAnswer:
            return None
        try:
            pid, uid = connection.peer()
        except OSError:
            return None
        finally:
            connection.close()
        return pid if uid in (None, self.uid) else None


def is_younger(pid, path, started_at):
    """Whether a process started after the record of its socket: the pid was reused.

    Clocks get corrected, so a process that holds the socket is the right one at any age.
    """
    began = start_time_of(pid) if LINUX else None
    if began is None or started_at is None or began <= started_at + CLOCK_SLACK_S:
        return False
    return not is_held(pid, path)


def is_held(pid, path):
    """Whether a process listens at this path, also if the socket's file was removed."""
    name = os.path.basename(path)  # its folder may go by another path there
    bound = {inode for inode, each in bound_sockets(pid) if os.path.basename(each) == name}
    return bool(bound and bound & sockets_of(pid))


def bound_sockets(pid="self"):
    """Return (inode, path) of the listening control sockets in a process's network."""
    try:
        table = read_file("/proc/%s/net/unix" % pid, MAX_TABLE_BYTES)
    except OSError:
        return []
    found = [each for each in SOCKET_LINE.finditer(table) if int(each.group(1), 16) & LISTENING]
    return [(each.group(2).decode("ascii"), os.fsdecode(each.group(3))) for each in found][
        :MAX_SOCKETS
    ]


def connections_to(path):
    """Return the inodes of a control socket's connections, on the eval's side.

    The inode of one that the eval has not accepted yet is 0.
    """
    try:
        table = read_file("/proc/self/net/unix", MAX_TABLE_BYTES)
    except OSError:
        return set()
    # The kernel has the path as the eval bound it: through another folder, or without one.
    name = re.escape(os.fsencode(os.path.basename(path)))
    lines = re.compile(
        rb"^\S+: [0-9A-F]+ [0-9A-F]+ ([0-9A-F]{8}) [0-9A-F]+ [0-9A-F]+ +([0-9]+) (?:.*/)?"
        + name
        + rb"$",
        re.MULTILINE,
    )
    return {
        each.group(2).decode("ascii")
        for each in lines.finditer(table)
        if not int(each.group(1), 16) & LISTENING
    }


def sockets_of(pid):
    """Return the inodes of the sockets that a process holds."""
    folder, found = "/proc/%d/fd" % pid, set()
    try:
        names = os.listdir(folder)[:MAX_DESCRIPTORS]
    except OSError:
        return found
    for name in names:
        try:
            kind, _, inode = os.readlink(os.path.join(folder, name)).partition(":")
        except OSError:
            continue
        if kind == "socket":
            found.add(inode.strip("[]"))
    return found
