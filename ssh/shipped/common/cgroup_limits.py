"""Limits of the control groups that this program runs in, such as a container's."""

import os
import re

from ssh.shipped.common.cgroup import LIMIT_FILES, UNLIMITED_BYTES, folders_of, number_in, text_in

MEMORY_FILES = {
    # version: (memory in use, its statistics, what of it can be freed)
    1: ("memory.usage_in_bytes", "memory.stat", "total_inactive_file"),
    2: ("memory.current", "memory.stat", "inactive_file"),
}


def memory_limits():
    """Return (limit, free bytes below it) for each limit of memory that applies here."""
    found = []
    for version, folder in folders_of("memory"):
        use_file, stat_file, name = MEMORY_FILES[version]
        limit, used = number_in(folder, LIMIT_FILES[version - 1]), number_in(folder, use_file)
        if limit is None or limit >= UNLIMITED_BYTES:
            continue
        freed = re.search(r"^%s (\d+)$" % name, text_in(folder, stat_file), re.MULTILINE)
        held = max(0, (used or 0) - (int(freed.group(1)) if freed else 0))
        found.append((limit, max(0, limit - held)))
    return found


def processes_left():
    """Return how many more processes our control groups allow; None: any number."""
    counts = []
    for _, folder in folders_of("pids"):
        limit, used = number_in(folder, "pids.max"), number_in(folder, "pids.current")
        if limit is not None and used is not None:
            counts.append(max(0, limit - used))
    return min(counts) if counts else None


def usable_cpus():
    """Return how many CPUs this program may use, a whole number or not; None: unknown."""
    try:
        counts = [len(os.sched_getaffinity(0))]
    except (AttributeError, OSError):
        counts = [count for count in (os.cpu_count(),) if count]
    for version, folder in folders_of("cpu"):
        if version == 2:
            quota, _, period = text_in(folder, "cpu.max").partition(" ")
        else:
            quota = text_in(folder, "cpu.cfs_quota_us")
            period = text_in(folder, "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):
            counts.append(round(int(quota) / int(period), 2))
    return min(counts) if counts else None
