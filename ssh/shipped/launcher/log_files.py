"""Log files of a folder."""

import fnmatch
import os
import re
import time

MAX_LOGS = 20
SEARCH_TIMEOUT_S = 10


def newest_logs(folder, until):
    """Return the newest logs of a folder: path, size in bytes, time of the last change.

    A log folder may be a huge tree, so the search stops at `until`, monotonic seconds.
    """
    found = []
    try:
        for base, _, names in os.walk(folder):
            if time.monotonic() > until:
                break
            found += [log for log in (log_at(base, name) for name in names) if log]
    except ValueError:
        pass  # a name that can't be a path
    return newest_first(found)


def newest_first(logs):
    return sorted(logs, key=lambda row: row["at"], reverse=True)[:MAX_LOGS]


def log_at(base, name):
    if not (fnmatch.fnmatch(name, "*.eval") or re.match(r"\d{4}-.*\.json\Z", name)):
        return None
    path = os.path.join(base, name)
    try:
        about = os.stat(path)
    except OSError:
        return None
    return {"path": path, "size": about.st_size, "at": about.st_mtime}
