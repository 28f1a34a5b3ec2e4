"""Limits of the place where an eval will live, and its folder for temporary files."""

import os

from ssh.shipped.common.cgroup_limits import memory_limits, processes_left
from ssh.shipped.common.proc import read_file
from ssh.shipped.survey.folders import read_place

try:
    import resource
except ImportError:  # pragma: no cover - every machine we know has it
    resource = None

UNLIMITED = 2**40


def read_limits():
    """Return the limits as numbers; None: no limit, or unknown."""
    limits = [limit for limit, _ in memory_limits()]
    known = [n for n in (account_processes_left(), processes_left()) if n is not None]
    return {
        "open_files": limit_of("RLIMIT_NOFILE"),
        "processes_left": min(known) if known else None,
        "memory": min(limits) if limits else None,
    }


def limit_of(name):
    """Return the limit of this process; None: no limit, or unknown."""
    if resource is None or not hasattr(resource, name):
        return None
    soft, _ = resource.getrlimit(getattr(resource, name))
    return soft if 0 <= soft < UNLIMITED else None


def account_processes_left():
    """Return how many more processes and threads this account may have; None: any number."""
    limit = limit_of("RLIMIT_NPROC")
    user = os.getuid()
    if limit is None or user == 0:  # the kernel does not limit root
        return None
    used = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        try:
            if os.stat("/proc/" + name).st_uid == user:
                data = read_file("/proc/%s/stat" % name, 4096)
                used += int(data[data.rfind(b")") + 2 :].split()[17])
        except (OSError, ValueError, IndexError):
            continue
    return max(0, limit - used)


def read_temporary(env):
    """Return facts of the folder for temporary files."""
    return read_place(env.get("TMPDIR") or "/tmp")
