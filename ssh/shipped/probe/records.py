"""Discovery records: each eval with a control server writes one."""

import json
import os
import stat
import sys

from ssh.shipped.common.proc import MAX_RECORD_BYTES, read_file
from ssh.shipped.probe.changes import number

MAX_FOLDERS = 100
MAX_BOUND = 1000
NO_RECORD = {"pid": None, "started_at": None, "run_id": None, "api_version": None}


class Records:
    """Reads records; does not read an unchanged file again."""

    def __init__(self):
        self.cache = {}  # folder -> path -> (what stat said, record), of the files there now
        self.bound = {}  # the same for records beside sockets of other folders
        self.uid = os.getuid()

    def read(self, root):
        """Return the readable records of one data folder."""
        folder = os.path.join(root, "control")
        found = []
        try:
            names = os.listdir(folder)
        except (OSError, ValueError):
            self.cache.pop(folder, None)
            return found
        before, here = self.cache.get(folder, {}), {}
        if len(self.cache) > MAX_FOLDERS:
            self.cache.clear()
        self.cache[folder] = here
        for name in names:
            if not name.endswith(".json") or name.startswith("."):
                continue
            record = self.read_one(os.path.join(folder, name), before, here)
            if record is not None:
                found.append(placed(record, folder))
        return found

    def of_socket(self, path):
        """Return the record of a bound socket; an empty one if its file is not there."""
        folder, name = os.path.split(path)
        before = self.bound
        if len(before) > MAX_BOUND:
            before.clear()
        record = self.read_one(os.path.join(folder, name[: -len("sock")] + "json"), before, before)
        return placed(record or dict(NO_RECORD, socket_path=path), folder)

    def read_one(self, path, before, here):
        try:
            now = os.lstat(path)
        except OSError:
            return None
        mark = (now.st_ino, now.st_size, now.st_mtime_ns)
        kept = before.get(path)
        if kept is not None and kept[0] == mark:
            here[path] = kept
            return kept[1]
        record = None
        if stat.S_ISREG(now.st_mode) and now.st_uid == self.uid and now.st_size <= MAX_RECORD_BYTES:
            try:
                record = checked_record(json.loads(read_file(path).decode("utf-8")))
            except (OSError, ValueError, RecursionError):
                record = None
        here[path] = (mark, record)
        return record


def placed(record, folder):
    """Return a record with its folder and its data folder."""
    return dict(record, control_dir=folder, data_dir=os.path.dirname(os.path.dirname(folder)))


def checked_record(record):
    if not isinstance(record, dict):
        return None
    pid, path = record.get("pid"), record.get("socket_path")
    if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < 2**31:
        return None
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        return None
    os.fsencode(path)  # raises a ValueError where it can't be a path
    run_id = record.get("run_id")
    version = record.get("api_version", 0)
    return {
        "pid": pid,
        "socket_path": path,
        "started_at": number(record.get("started_at")),
        "run_id": run_id[:200] if isinstance(run_id, str) else None,
        "api_version": version if isinstance(version, int) and abs(version) < 2**31 else 0,
    }


def data_root(env):
    """Return the folder that Inspect would use with these variables (platformdirs' rule)."""
    chosen = env.get("XDG_DATA_HOME", "")
    home = env.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "inspect_ai")
    if os.path.isabs(chosen):
        return os.path.join(chosen, "inspect_ai")
    return os.path.join(home, ".local", "share", "inspect_ai")
