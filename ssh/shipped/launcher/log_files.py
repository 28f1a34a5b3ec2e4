"""Log files of a folder."""

import fnmatch
import os
import re
import time

MAX_LOGS = 20
MAX_CANDIDATES = 200
SEARCH_TIMEOUT_S = 10


class LogFolderUnreadable(Exception):
    """A log folder exists, but its logs can't be listed."""


def newest_logs(folder, until):
    """Return the newest logs of a folder: path, size in bytes, time of the last change.

    A log folder may be a huge tree, so the search stops at `until`, monotonic seconds.
    """
    found, _ = all_logs(folder, until)
    return sorted(found, key=lambda row: row["at"], reverse=True)[:MAX_LOGS]


def log_candidates(folder, run_folder, listed):
    """Return the paths of the logs that may be a run's own, the likeliest first.

    Args:
        folder: The log folder.
        run_folder: The run's folder.
        listed: Paths that are the run's own.

    Raises LogFolderUnreadable.
    """
    found, error = all_logs(folder, time.monotonic() + SEARCH_TIMEOUT_S)
    is_own = is_inside(folder, run_folder)  # then Inspect creates it with its first log
    if error is not None and not (is_own and isinstance(error, FileNotFoundError)):
        reason = error.strerror or type(error).__name__
        raise LogFolderUnreadable("the log folder %s: %s" % (folder, reason))
    since = changed_since_start(found, run_folder)
    ours = [row["path"] for row in found if row["path"] in listed]
    # The first logs after the start are its own; later ones are of evals that came after it.
    after = sorted(row["path"] for row in found if row["at"] >= since)
    before = sorted((row["path"] for row in found if row["at"] < since), reverse=True)
    half = MAX_CANDIDATES // 2
    return list(dict.fromkeys([*ours, *after[:half], *before[:half]]))[:MAX_CANDIDATES]


def changed_since_start(logs, run_folder):
    """Return the time from which changes of these logs are after a run's start.

    The clocks of two file systems may differ, so their times are not compared: then it is 0.
    """
    try:
        started = os.stat(os.path.join(run_folder, "started"))
        same = all(os.stat(row["path"]).st_dev == started.st_dev for row in logs[:1])
    except OSError:
        return 0.0
    return started.st_mtime if same else 0.0


def all_logs(folder, until):
    """Return the logs of a tree, and the OSError of the folder itself (None: it can be read)."""
    found, errors = [], []
    try:
        os.listdir(folder)
    except OSError as error:
        return [], error
    except ValueError:
        return [], None  # a name that can't be a path
    for base, _, names in os.walk(folder, onerror=errors.append):
        if time.monotonic() > until:
            break
        found += [log for log in (log_at(base, name) for name in names) if log]
    return found, None


def is_inside(path, folder):
    return os.path.normpath(path).startswith(os.path.normpath(folder) + os.sep)


def log_at(base, name):
    if not (fnmatch.fnmatch(name, "*.eval") or re.match(r"\d{4}-.*\.json\Z", name)):
        return None
    path = os.path.join(base, name)
    try:
        about = os.stat(path)
    except OSError:
        return None
    return {"path": path, "size": about.st_size, "at": about.st_mtime}
