"""Whether the kernel killed a process because memory ran out."""

import os
import re
import time

from ssh.shipped.common.cgroup import group_kills, groups_of
from ssh.shipped.common.own_pids import has_own_pids
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_tool

KILLED = re.compile(rb"[Oo]ut of memory: Kill(?:ed)? process ([0-9]+) ")
RECENT_US = 120 * 1000000
MAX_RECORDS = 20000
JOURNAL_TIMEOUT_S = 5.0


def kills_near(pid):
    """Return (control group of a process, its kills so far); None: it counts none."""
    for _, folder in groups_of(pid, "memory")[:1]:
        count = group_kills(folder)
        if count is not None:
            return folder, count
    return None


def oom_kill_of(pid, before):
    """Return how we know that a process was killed for lack of memory; empty: it is not known.

    `kernel`: the kernel's record names it; `group`: its control group has counted a kill since
    `before`.
    """
    if pid in killed_lately():
        return "kernel"
    return "group" if before and (group_kills(before[0]) or 0) > before[1] else ""


def killed_lately():
    """Return the pids that the kernel's own record of the last two minutes names.

    None in a container: the record holds the pids of the whole computer.
    """
    if has_own_pids():
        return set()
    try:
        fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        tool = find_tool("journalctl")
        argv = [tool, "-kq", "-ocat", "-n2000", "--since=-2min"]
        run = run_tool(argv, JOURNAL_TIMEOUT_S) if tool else None
        return pids_in([run.out]) if run else set()
    try:
        return pids_in(recent(fd))
    finally:
        os.close(fd)


def recent(fd):
    """Yield the new records; each read returns one, and fails where one was overwritten."""
    since = time.monotonic() * 1000000 - RECENT_US
    for _ in range(MAX_RECORDS):
        try:
            record = os.read(fd, 8192)
        except BrokenPipeError:
            continue
        except OSError:
            return
        at = record.split(b",", 3)[2:3]
        if not record:
            return
        if at and at[0].isdigit() and int(at[0]) >= since:
            yield record


def pids_in(texts):
    return {int(pid) for text in texts for pid in KILLED.findall(text)}
