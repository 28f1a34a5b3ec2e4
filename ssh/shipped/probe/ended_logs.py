"""The logs of an eval that has ended: some evals end before anyone has listed their tasks.

Its trace file names them. Inspect deletes old trace files, so without one they are those in its log
folder that bear the id of its run. Other evals may log there, so a name or a time proves nothing.
"""

import json
import os
import zipfile
import zlib

from ssh.shipped.probe.dead_evals import MAX_LOGS, SLACK_S, logs_traced, own_files, trace_of

MAX_READ_LOGS = 200  # the newest of a folder
MAX_START_BYTES = 4 * 1024 * 1024
START_FILE = "_journal/start.json"  # a member of each .eval log
UNREADABLE = (OSError, EOFError, ValueError, RecursionError, KeyError, NotImplementedError)
UNREADABLE += (RuntimeError, zipfile.BadZipFile, zlib.error)


def logs_of_ended(process):
    """Return the paths of the logs that an ended process wrote, as far as that can be proved."""
    found = logs_left(process.traces, process.pid, process.started_at) if process.traces else []
    if not found and process.run_id and process.log_dir:
        found = logs_of_run(process.log_dir, process.run_id, process.started_at)
    return found


def logs_left(traces, pid, started_at=None):
    """Return the logs that the trace file of a process names; Inspect packs it at its end.

    A trace file that was begun before `started_at`, Unix seconds, is that of an earlier process.
    """
    path = trace_of(traces, pid)
    if path is None:
        return []
    logs, began = logs_traced(path)
    if began is not None and started_at is not None and began < started_at - SLACK_S:
        return []
    return [each for each in logs if os.path.lexists(each)][:MAX_LOGS]


def logs_of_run(folder, run_id, since=None):
    """Return the logs of a folder that bear a run's id (`eval.run_id` of Inspect)."""
    files = [(path, changed_at(path)) for name, path in own_files(folder) if is_log(name)]
    files = [each for each in files if since is None or each[1] >= since - SLACK_S]
    files.sort(key=lambda each: each[1], reverse=True)
    newest = [path for path, _ in files[:MAX_READ_LOGS]]
    return [path for path in newest if run_of_log(path) == run_id][:MAX_LOGS]


def is_log(name):
    return name.endswith(".eval")


def changed_at(path):
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def run_of_log(path):
    """Return the run's id in a log; None: it can't be read."""
    try:
        with zipfile.ZipFile(path) as log:
            if log.getinfo(START_FILE).file_size > MAX_START_BYTES:
                return None
            with log.open(START_FILE) as member:
                start = json.loads(member.read(MAX_START_BYTES).decode("utf-8"))
        return start["eval"]["run_id"]
    except UNREADABLE:
        return None
    except TypeError:
        return None  # it is JSON of another shape
