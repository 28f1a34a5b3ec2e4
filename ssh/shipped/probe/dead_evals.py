"""Finds evals that died: what they left in Inspect's data folder names their logs.

An eval that ends removes its record and its sample buffer, and packs its trace file. One that was
killed leaves them: the trace file names each log that it wrote, the buffers name their logs.
"""

import gzip
import hashlib
import json
import os
import re
import time
import zipfile
import zlib

from ssh.shipped.common.proc import MAX_RECORD_BYTES, read_file, start_mark
from ssh.shipped.probe.liveness import start_time_of
from ssh.shipped.probe.network_mounts import is_on_network

DEAD_SCAN_EVERY_S = 20.0
SLACK_S = 2.0
MAX_FILES = 2000  # of one folder
MAX_DEAD = 50
MAX_LOGS = 50  # of one eval
TRACE_HEAD_BYTES, TRACE_TAIL_BYTES = 1024 * 1024, 256 * 1024
MAX_LOCATION_CHARACTERS = 4096
TRACE = re.compile(r"trace-([0-9]{1,10})\.log\Z")
RECORD = re.compile(r"([0-9]{1,10})\.json\Z")
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^/]")
BUFFER = re.compile(r"(.+\.(?:eval|json))\.([0-9]{1,10})\.db\Z")


class Leftover:
    """The files that one pid left: paths of its trace, record and buffers (folder hash, name)."""

    def __init__(self):
        self.trace = self.record = None
        self.buffers = []
        self.paths = []


class DeadEvals:
    """Remembers what it read of files that have not changed since."""

    def __init__(self):
        self.read_at = None
        self.known = []
        self.cache = {}  # (folder, pid) -> (mark of its files, row or None)

    def rows(self, roots, folders):
        """Return a row for each eval that died in one of the data folders.

        `roots`: folders such as ~/.local/share/inspect_ai. `folders`: further folders that may
        hold the logs of a buffer.
        """
        now = time.monotonic()
        if self.read_at is not None and now - self.read_at < DEAD_SCAN_EVERY_S:
            return self.known
        self.read_at = now
        found, kept = [], {}
        for root in sorted(roots):
            if is_on_network(root):
                continue  # another host may run what looks dead from here
            for pid, left in sorted(leftovers(root).items()):
                key, mark = (root, pid), file_marks(left.paths)
                if is_living(pid, mark):
                    continue
                before = self.cache.get(key)
                if before is None or before[0] != mark:
                    if is_open({each[:2] for each in mark}):
                        continue  # by a process in a container, which has another pid here
                    before = (mark, dead_row(root, pid, left, folders))
                kept[key] = before
                if before[1] is not None:
                    found.append(before[1])
        self.cache = kept
        found.sort(key=lambda row: row["ended_at"])
        self.known = found[-MAX_DEAD:]
        return self.known


def leftovers(root):
    """Return pid -> Leftover of a data folder."""
    found = {}

    def of(pid):
        return found.setdefault(int(pid), Leftover())

    for name, path in own_files(os.path.join(root, "traces")):
        match = TRACE.match(name)
        if match:
            of(match.group(1)).trace = path
            of(match.group(1)).paths.append(path)
    for name, path in own_files(os.path.join(root, "control")):
        match = RECORD.match(name)
        if match:
            of(match.group(1)).record = path
            of(match.group(1)).paths.append(path)
    buffers = os.path.join(root, "samplebuffer")
    for folder in names_in(buffers):
        for name, path in own_files(os.path.join(buffers, folder)):
            match = BUFFER.match(name)
            if match:
                left = of(match.group(2))
                left.buffers.append((folder, match.group(1)))
                left.paths += [path, path + "-wal"]
    return found


def names_in(folder):
    try:
        return sorted(os.listdir(folder))[:MAX_FILES]
    except (OSError, ValueError):
        return []


def own_files(folder):
    """Yield the name and path of each regular file of this user in a folder."""
    for name in names_in(folder):
        path = os.path.join(folder, name)
        try:
            found = os.lstat(path)
        except (OSError, ValueError):
            continue
        if found.st_uid == os.getuid() and found.st_mode & 0o170000 == 0o100000:
            yield name, path


def file_marks(paths):
    """Return (device, inode, size, time of the last write) of each file that is there."""
    marks = []
    for path in paths:
        try:
            found = os.lstat(path)
        except OSError:
            continue
        marks.append((found.st_dev, found.st_ino, found.st_size, found.st_mtime))
    return marks


def is_living(pid, mark):
    """Whether the process of this pid may have written these files."""
    if start_mark(pid) is None:
        return False
    began = start_time_of(pid)
    return began is None or began <= max([each[3] for each in mark], default=0.0) + SLACK_S


def is_open(files):
    """Whether a process of this user has one of these files (device, inode) open."""
    uid = os.getuid()
    for pid in names_in("/proc"):
        if not pid.isdigit():
            continue
        fds = "/proc/%s/fd" % pid
        try:
            if os.stat("/proc/" + pid).st_uid != uid:
                continue
            names = os.listdir(fds)
        except OSError:
            continue
        for name in names:
            try:
                found = os.stat("%s/%s" % (fds, name))
            except OSError:
                continue
            if (found.st_dev, found.st_ino) in files:
                return True
    return False


def dead_row(root, pid, left, folders):
    """Return the row of a dead eval; None: no log of it is known, or all of them are final."""
    traced, began = logs_traced(left.trace) if left.trace else ([], None)
    record = leftover_record(left.record) if left.record else {}
    places = {os.path.dirname(each) for each in traced if not is_url(each)} | set(folders)
    logs = list(traced)
    for folder, name in left.buffers:
        for place in places:
            path = os.path.join(place, name)
            if path not in logs and folder_hash(place) == folder and os.path.lexists(path):
                logs.append(path)
    logs = [each for each in logs if may_exist(each)]
    # A read of a buffer writes to its files, so they tell the time only where no trace file does.
    written = [left.trace] if left.trace else left.paths
    times = [each[3] for each in file_marks(written + logs)]
    if not times or all(is_final(each) for each in logs):
        return None
    started = record.get("started_at")
    started = started if isinstance(started, (int, float)) else began
    run_id = record.get("run_id")
    return {
        "pid": pid,
        "start": "files-%d" % (started or min(times)),
        "started_at": began or started,
        "run_id": run_id[:200] if isinstance(run_id, str) else None,
        "data_dir": os.path.dirname(root),
        "alive": False,
        "channel": "dead",
        "found": "files",
        "ended_at": max(times),
        "logs": logs[:MAX_LOGS],
    }


def leftover_record(path):
    try:
        found = json.loads(read_file(path, MAX_RECORD_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def logs_traced(path):
    """Return the logs that a trace file names, and the time of its first task."""
    logs, began = [], None
    for line in ends_of(path).split(b"\n"):
        if b'"Log Write"' not in line and b'"Run Task"' not in line:
            continue
        try:
            entry = json.loads(line.decode("utf-8"))
            action, detail, time_s = entry["action"], entry["detail"], entry.get("start_time")
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
            continue
        if began is None and isinstance(time_s, (int, float)):
            began = float(time_s)
        if action != "Log Write" or not isinstance(detail, str):
            continue
        # A sample's entry begins with its id.
        location = detail.rpartition("\n")[2]
        if location.startswith("file://"):
            location = location[len("file://") :]
        is_place = os.path.isabs(location) or is_url(location)
        is_named = is_place and location.endswith((".eval", ".json"))
        if is_named and len(location) <= MAX_LOCATION_CHARACTERS and location not in logs:
            logs.append(location)
    return logs, began


def logs_left(traces, pid, born_at=None):
    """Return the logs that the trace file of a process names; Inspect packs it at its end.

    A file that was begun before `born_at`, Unix seconds, is that of an earlier process of this pid.
    """
    name = os.path.join(traces, "trace-%d.log" % pid)
    for path in (name, name + ".gz"):
        if os.path.isfile(path) and not os.path.islink(path):
            logs, began = logs_traced(path)
            if began is not None and born_at is not None and began < born_at - SLACK_S:
                return []
            return [each for each in logs if may_exist(each)][:MAX_LOGS]
    return []


def is_url(location):
    return URL.match(location) is not None


def may_exist(location):
    """Whether a log exists; one at a URL may."""
    return is_url(location) or os.path.lexists(location)


def ends_of(path):
    """Return the first and the last bytes of a file; of a packed one, the first."""
    try:
        if path.endswith(".gz"):
            with gzip.open(path) as packed:
                return packed.read(TRACE_HEAD_BYTES)
        with open(path, "rb") as file:
            head = file.read(TRACE_HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
            if size <= TRACE_HEAD_BYTES:
                return head
            file.seek(max(TRACE_HEAD_BYTES, size - TRACE_TAIL_BYTES))
            return head + b"\n" + file.read(TRACE_TAIL_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def folder_hash(folder):
    """Return the name that Inspect gives the folder of the buffers of a log folder."""
    return hashlib.sha256(("file://" + folder).encode("utf-8", "surrogateescape")).hexdigest()


def is_final(path):
    """Whether an eval log has its end.

    A .json log and a log at a URL count as unfinished, since they are not read here.
    """
    try:
        if not path.endswith(".eval") or not os.path.isfile(path):
            return False
        with zipfile.ZipFile(path) as log:
            return "header.json" in log.namelist()
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False
