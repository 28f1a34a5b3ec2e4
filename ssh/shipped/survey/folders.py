"""Folders: the disk of each, the logs in it, and whether a run was started there."""

import json
import os
import re
import time

from ssh.shipped.common.paths import at_home
from ssh.shipped.common.proc import read_file
from ssh.shipped.common.units import MIB
from ssh.shipped.survey.side_by_side import short

FOLDER_TIMEOUT_S = 4.0
MAX_FILES = 5000
ST_RDONLY, ST_NOEXEC = 1, 8  # flags of statvfs, on every system we know
LOG_NAME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^/]*\.(eval|json)\Z|[^/]*\.eval\Z")


def nearest_above(path):
    """Return `path`, or the nearest folder above it that exists."""
    near = path
    while not os.path.exists(near) and os.path.dirname(near) != near:
        near = os.path.dirname(near)
    return near


def read_place(path):
    """Return facts of a folder, or of the nearest one above it that exists."""
    full = at_home(path)
    near = nearest_above(full)
    found = os.statvfs(near)
    return {
        "full": os.path.realpath(full),
        "near": near,
        "exists": os.path.exists(full),
        "is_folder": os.path.isdir(near),
        "is_writable": os.access(near, os.W_OK | os.X_OK),
        "disk": os.stat(near).st_dev,
        "total": found.f_blocks * found.f_frsize,
        "free": found.f_bavail * found.f_frsize,
        "has_files_left": found.f_files == 0 or found.f_favail > 0,
        "read_only": bool(found.f_flag & ST_RDONLY),
        "no_exec": bool(found.f_flag & ST_NOEXEC),
    }


def read_log_folder(path):
    """Return facts of a folder for logs: also its eval-set and its number of logs."""
    facts = read_place(path)
    facts.update(eval_set=None, tasks=[], logs=0)
    full = facts["full"]
    if not facts["exists"] or not facts["is_folder"]:
        return facts
    eval_set = text_of_file(os.path.join(full, ".eval-set-id"), 200)
    try:
        known = json.loads(text_of_file(os.path.join(full, "eval-set.json"), 4 * MIB) or "null")
    except (ValueError, RecursionError):
        known = None
    if isinstance(known, dict):
        eval_set = eval_set or known.get("eval_set_id")
        rows = known.get("tasks")
        for row in rows[:1000] if isinstance(rows, list) else ():
            if isinstance(row, dict):
                facts["tasks"].append([short(row.get("name")), short(row.get("model"))])
    facts["eval_set"] = short(eval_set, 100) if eval_set else None
    seen, end = 0, time.monotonic() + FOLDER_TIMEOUT_S / 2
    for _, folders, files in os.walk(full):
        seen += len(files) + len(folders)
        facts["logs"] += sum(1 for name in files if LOG_NAME.match(name))
        if seen > MAX_FILES or time.monotonic() > end:
            break
    return facts


def text_of_file(path, max_bytes):
    """Return the text at the beginning of a file; None if it can't be read."""
    try:
        return read_file(path, max_bytes).decode("utf-8", "replace").strip()
    except OSError:
        return None


def read_run_folder(path):
    full = at_home(path)
    return {
        "exists": os.path.isdir(full),
        "is_started": os.path.isdir(os.path.join(full, "started")),
    }
