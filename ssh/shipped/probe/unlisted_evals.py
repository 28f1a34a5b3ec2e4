"""Evals that run on the machine and that the probe does not list: they may hold containers."""

import json
import os
import re

from ssh.shipped.common.inspect_commands import is_python, runs_evals
from ssh.shipped.common.proc import argv_of, environ_of, read_file, stat_of
from ssh.shipped.common.users import user_name
from ssh.shipped.probe.discovery import VERBS

TRACE_FILE = re.compile(r"/inspect_ai/traces/trace-[0-9]+\.log( \(deleted\))?\Z")
USUAL_ENGINE = "unix:///var/run/docker.sock"
UNIX = "unix://"


def unlisted_evals(listed):
    """Return the pids of evals that run here and are not among `listed`.

    They are those of other accounts and of other data folders, and those of scripts without a
    control server, as far as they can be seen. An eval that talks to another engine does not count.
    """
    engine, found, unlisted = engine_of(os.environ), set(listed), set()
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        argv, stat = argv_of(pid), stat_of(pid)
        if not argv or stat is None or pid in found:
            continue
        if not runs_evals(argv, VERBS) and not holds_trace(pid):
            continue
        found.add(pid)
        if stat[1] in found:
            continue  # a child that an eval forked
        env = environ_of(pid)
        if not env or may_be_same(engine, engine_of(env)):
            unlisted.add(pid)
    return unlisted


def unlisted_row(pid):
    """Return what identifies such a process to an operator: pid, a name and its account."""
    words = [os.path.basename(word) for word in argv_of(pid) or [] if not word.startswith("-")]
    name = " ".join(words[:2])
    try:
        user = user_name(os.stat("/proc/%d" % pid).st_uid)
    except OSError:
        user = ""
    return {"pid": pid, "name": name[:100], "user": user}


def holds_trace(pid):
    """Whether a process is a Python that has Inspect's trace file open, as every eval has."""
    fds = "/proc/%d/fd" % pid
    try:
        if not is_python(os.readlink("/proc/%d/exe" % pid)):
            return False
        names = os.listdir(fds)
    except OSError:
        return False  # it ended, or belongs to another account
    chosen = os.path.basename(environ_of(pid).get("INSPECT_TRACE_FILE", ""))
    for name in names:
        try:
            path = os.readlink("%s/%s" % (fds, name))
        except OSError:
            continue
        if TRACE_FILE.search(path) or (chosen and os.path.basename(path) == chosen):
            return True
    return False


def engine_of(env):
    """Return the address of the Docker engine that a process with these variables talks to.

    Empty: a context of Docker chooses it.
    """
    if env.get("DOCKER_HOST"):
        return env["DOCKER_HOST"]
    if env.get("DOCKER_CONTEXT"):
        return ""
    folder = env.get("DOCKER_CONFIG") or os.path.join(env.get("HOME", "/"), ".docker")
    try:
        config = json.loads(read_file(os.path.join(folder, "config.json")).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return USUAL_ENGINE
    return "" if isinstance(config, dict) and config.get("currentContext") else USUAL_ENGINE


def may_be_same(one, other):
    """Whether two addresses may mean one engine: only two files are known to differ."""
    if not one.startswith(UNIX) or not other.startswith(UNIX):
        return True
    return os.path.realpath(one[len(UNIX) :]) == os.path.realpath(other[len(UNIX) :])
