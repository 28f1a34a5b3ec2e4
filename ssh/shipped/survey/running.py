"""Evals that run on the machine, of every user whose command lines can be read."""

import os

from ssh.shipped.common.failures import Absent
from ssh.shipped.common.inspect_commands import log_dir_word, runs_evals
from ssh.shipped.common.namespaces import CONTAINED, place_of
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, environ_of
from ssh.shipped.common.users import user_name

VERBS = {"inspect": ("eval", "eval-set", "eval-retry")}
MAX_EVALS = 500


def read_running():
    """Return the Inspect processes that run evals, with the folders that they log into."""
    if not LINUX:
        raise Absent("other processes can be listed on Linux only")
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and len(found) < MAX_EVALS:
            row = running_eval(int(name))
            if row is not None:
                found.append(row)
    return found


def running_eval(pid):
    argv = argv_of(pid)
    if not argv or not runs_evals(argv, VERBS):
        return None
    try:
        cwd = os.readlink("/proc/%d/cwd" % pid)
    except OSError:
        cwd = None
    env = environ_of(pid)
    chosen = log_dir_word(argv, env)
    if "://" not in chosen and not os.path.isabs(chosen):
        chosen = os.path.join(cwd, chosen) if cwd else None
    run = env.get("EVALROOM_RUN")
    if place_of(pid) == CONTAINED:
        chosen = None  # its paths are those of its container
    if chosen and "://" not in chosen:
        chosen = os.path.realpath(chosen)
    return {
        "pid": pid,
        "user": owner_of(pid),
        "run": run and as_utf8(run),
        "log_dir": chosen and as_utf8(chosen),
    }


def owner_of(pid):
    try:
        return user_name(os.stat("/proc/%d" % pid).st_uid)
    except OSError:
        return None


def as_utf8(path):
    return os.fsencode(path).decode("utf-8", "replace")
