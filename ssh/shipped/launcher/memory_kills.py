"""Kills for lack of memory since a run's start, by the kernel's own counts."""

import json
import os

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.cgroup import (
    LIMIT_FILES,
    UNLIMITED_BYTES,
    folders_of,
    group_kills,
    kills_in,
    number_in,
    text_in,
)
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


def memory_kills(also=()):
    """Return {folder of a control group: [kills for lack of memory, its limit in bytes or None]}.

    The groups are our own, those above it that have a limit, and those in `also`. The empty name
    is the whole machine.
    """
    found = {}
    ours = [folder for _, folder in folders_of("memory")]
    for folder in dict.fromkeys([*ours, *filter(None, also)]):
        kills = group_kills(folder)
        limits = [number_in(folder, name) for name in LIMIT_FILES]
        limit = next((n for n in limits if n is not None and n < UNLIMITED_BYTES), None)
        if kills is not None and (limit is not None or folder in ours[:1] or folder in also):
            found[folder] = [kills, limit]
    kills = kills_in(text_in("/proc", "vmstat"))
    if kills is not None:
        found[""] = [kills, None]
    return found
