"""Kills for lack of memory since a run's start, by the kernel's own counts."""

import json
import os

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.cgroup import memory_kills
from ssh.shipped.launcher.files import head_of, json_of, write_private

KILLS_FILE = "memory-kills.json"  # the counts at the start, in the run's folder


def note_kills(folder):
    """Write down the counts before a run starts, to tell its kills from older ones."""
    try:
        text = json.dumps(memory_kills())
        write_private(os.path.join(folder, KILLS_FILE), text.encode("utf-8"))
    except (OSError, CannotDo):
        pass  # it is there already, or the disk is full: the start itself will say so


def kills_since(folder):
    """Return {group, limit, machine}: kills in the run's control group, its limit in bytes (or
    None), and kills on the whole machine. None: no process was killed, or it is unknown."""
    before = json_of(
        head_of(os.path.join(folder, KILLS_FILE), 64 * 1024).decode("utf-8", "replace")
    )
    if not isinstance(before, dict):
        return None
    found = {"group": 0, "limit": None, "machine": 0}
    for name, (count, limit) in memory_kills(before).items():
        was = before.get(name)
        more = count - was[0] if isinstance(was, list) and was and count > was[0] else 0
        if not name:
            found["machine"] = more
        elif more > found["group"]:
            found.update(group=more, limit=limit)
    return found if found["group"] or found["machine"] else None
