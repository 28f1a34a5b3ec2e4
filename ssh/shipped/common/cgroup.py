"""The control groups (version 1 or 2) of processes, and the kills in them for lack of memory."""

import os
import re

from ssh.shipped.common.proc import read_file

UNLIMITED_BYTES = 2**60  # version 1 writes about 2**63 for no limit
LIMIT_FILES = ("memory.limit_in_bytes", "memory.max")  # of version 1 and 2


def group_kills(folder):
    """Return how many processes of a control group the kernel has killed for lack of memory."""
    return kills_in(text_in(folder, "memory.events") or text_in(folder, "memory.oom_control"))


def kills_in(text):
    kills = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
    return int(kills.group(1)) if kills else None


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
