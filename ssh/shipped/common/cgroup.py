"""Limits of the control group (version 1 or 2) that this program runs in, such as a container's."""

import os
import re

from ssh.shipped.common.proc import read_file

UNLIMITED_BYTES = 2**60  # version 1 writes about 2**63 for no limit
FILES = {
    # version: (memory limit, memory in use, its statistics, what of it can be freed)
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file"),
    2: ("memory.max", "memory.current", "memory.stat", "inactive_file"),
}


def memory_limits():
    """Return (limit, free bytes below it) for each limit of memory that applies here."""
    found = []
    for version, folder in folders_of("memory"):
        limit_file, use_file, stat_file, name = FILES[version]
        limit, used = number_in(folder, limit_file), number_in(folder, use_file)
        if limit is None or limit >= UNLIMITED_BYTES:
            continue
        freed = re.search(r"^%s (\d+)$" % name, text_in(folder, stat_file), re.MULTILINE)
        held = max(0, (used or 0) - (int(freed.group(1)) if freed else 0))
        found.append((limit, max(0, limit - held)))
    return found


def memory_kills(also=()):
    """Return {folder of a control group: [kills for lack of memory, its limit in bytes or None]}.

    The groups are our own, those above it that have a limit, and those in `also`. The empty name
    is the whole machine.
    """
    found = {}
    ours = [folder for _, folder in folders_of("memory")]
    for folder in dict.fromkeys([*ours, *filter(None, also)]):
        kills = group_kills(folder)
        limits = [number_in(folder, FILES[version][0]) for version in (1, 2)]
        limit = next((n for n in limits if n is not None and n < UNLIMITED_BYTES), None)
        if kills is not None and (limit is not None or folder in ours[:1] or folder in also):
            found[folder] = [kills, limit]
    kills = kills_in(text_in("/proc", "vmstat"))
    if kills is not None:
        found[""] = [kills, None]
    return found


def group_kills(folder):
    """Return how many processes of a control group the kernel has killed for lack of memory."""
    return kills_in(text_in(folder, "memory.events") or text_in(folder, "memory.oom_control"))


def kills_in(text):
    kills = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
    return int(kills.group(1)) if kills else None


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


def folders_of(controller):
    """Return (version, folder) of the control groups that limit this program, innermost first."""
    return groups_of("self", controller)


def groups_of(pid, controller):
    """Return the same for any process that has our mounts."""
    found = []
    try:
        groups = read_file("/proc/%s/cgroup" % pid).decode("utf-8", "replace")
        mounts = read_file("/proc/self/mountinfo", 4 * 1024 * 1024).decode("utf-8", "replace")
    except OSError:
        return found
    for line in mounts.splitlines():
        fields, _, more = line.partition(" - ")
        kind, _, options = [*more.split(" "), "", "", ""][:3]
        words = fields.split(" ")
        if kind == "cgroup2":
            version, pattern = 2, r"^0::(/.*)$"
        elif kind == "cgroup" and controller in options.split(","):
            version, pattern = 1, r"^\d+:(?:[^:\n]*,)?%s(?:,[^:\n]*)?:(/.*)$" % controller
        else:
            continue
        group = re.search(pattern, groups, re.MULTILINE)
        if group and len(words) > 4:
            found += [(version, each) for each in chain(group.group(1), words[3], words[4])]
    return found


def chain(group, root, mounted):
    """Return the folders of a group and of those above it, as far as they are mounted.

    In a container the mount shows the container's group, whatever path the kernel gives for it.
    """
    inside = (
        group[len(root.rstrip("/")) :] if (group + "/").startswith(root.rstrip("/") + "/") else ""
    )
    folder = os.path.normpath(mounted + inside)
    if ".." in inside or not os.path.isdir(folder):
        folder = mounted
    folders = [folder]
    while len(folder) > len(mounted):
        folder = os.path.dirname(folder)
        folders.append(folder)
    return folders


def text_in(folder, name):
    try:
        return read_file(os.path.join(folder, name)).decode("ascii", "replace").strip()
    except OSError:
        return ""


def number_in(folder, name):
    text = text_in(folder, name)
    return int(text) if text.isdigit() else None
