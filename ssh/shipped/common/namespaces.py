"""Whether a process is in this program's namespaces (Linux)."""

import os
import re

from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import read_file

HERE, CONTAINED, UNREAD = "here", "contained", "unread"
KINDS = [kind for kind in ("mnt", "pid", "user") if os.path.exists("/proc/self/ns/" + kind)]


def namespaces_of(pid):
    """Return the mount, pid and user namespaces and the root of a process (`self`: our own).

    Raises OSError if they can't be read: a process that ends has none any more.
    """
    found = [os.readlink("/proc/%s/ns/%s" % (pid, kind)) for kind in KINDS]
    root = os.stat("/proc/%s/root" % pid)
    return (*found, root.st_dev, root.st_ino)


def own_namespaces():
    try:
        return namespaces_of("self")
    except OSError:
        return None


OWN_NAMESPACES = own_namespaces() if LINUX else None


def place_of(pid):
    """Return HERE, CONTAINED or UNREAD: the place of a process, as the kernel says.

    HERE: its namespaces and its root are ours. UNREAD: the kernel does not let us compare them.
    """
    if not LINUX:
        return HERE
    try:
        if OWN_NAMESPACES is None:
            return UNREAD
        return HERE if namespaces_of(pid) == OWN_NAMESPACES else CONTAINED
    except OSError:
        pass
    return UNREAD if shares_our_pids(pid) else CONTAINED


def shares_our_pids(pid):
    """Whether a process is in our pid namespace; if that can't be read, a guess."""
    if not LINUX:
        return True
    theirs, ours = pid_namespace(pid), pid_namespace("self")
    if theirs and ours:
        return theirs == ours
    inner, own = inner_pids(pid), inner_pids("self")
    return not (inner and own and len(inner) != len(own))


def inner_pids(pid):
    """Return the pids of a process in each pid namespace, outermost first."""
    try:
        text = read_file("/proc/%s/status" % pid).decode("ascii", "replace")
    except OSError:
        return []
    found = re.search(r"^NSpid:([\t 0-9]+)$", text, re.MULTILINE)
    return [int(word) for word in found.group(1).split()] if found else []


def pid_namespace(pid):
    """Return the name of a process's pid namespace; empty if it can't be read."""
    try:
        return os.readlink("/proc/%s/ns/pid" % pid)
    except OSError:
        return ""
