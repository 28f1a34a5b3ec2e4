"""Memory of the machine, or of the container that this program runs in."""

import os
import re

from ssh.shipped.common.cgroup_limits import memory_limits
from ssh.shipped.common.proc import read_file


def read_memory():
    total = available = None
    try:
        text = read_file("/proc/meminfo").decode("ascii", "replace")
        for name, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE):
            if name == "MemTotal":
                total = int(value) * 1024
            elif name == "MemAvailable":
                available = int(value) * 1024
    except OSError:
        try:
            total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            pass
    for limit, free in memory_limits():
        total = limit if total is None else min(total, limit)
        available = free if available is None else min(available, free)
    return {"total": total, "available": available}
