"""The processes of runs: each has EVALROOM_RUN in its environment."""

import os
import re

from ssh.shipped.common.answers import objects_in
from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import argv_of, start_mark, stat_of
from ssh.shipped.launcher.files import head_of

RUN_VARIABLE = re.compile(rb"(?:\A|\0)EVALROOM_RUN=([0-9a-z-]{1,64})(?:\0|\Z)")
MAX_ENVIRON_BYTES = 1024 * 1024


def living_processes():
    """Return the running processes of runs, as {run: {pid: (parent pid, argv)}}."""
    found = {}
    if not LINUX:
        return found
    mine = os.getuid()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.stat("/proc/" + name).st_uid != mine:
                continue
        except OSError:
            continue
        run = RUN_VARIABLE.search(head_of("/proc/%s/environ" % name, MAX_ENVIRON_BYTES))
        stat = stat_of(int(name))
        if run is None or stat is None or stat[0] in "ZX":
            continue
        argv = argv_of(int(name)) or []
        found.setdefault(run.group(1).decode("ascii"), {})[int(name)] = (stat[1], argv)
    return found


def eval_of(pids, out):
    """Return the eval process of a run as (pid, start mark); (None, None): none.

    `out` is the output of its start, which names the pid. Other systems than Linux have only
    that, and no start mark.
    """
    record = last_record(out)
    pid = record.get("pid") if record else None
    if type(pid) is not int:  # anybody may have printed it
        pid = None
    if not LINUX:
        return pid, None
    if pid not in pids:
        evals = {
            each: parent
            for each, (parent, argv) in pids.items()
            if "eval-set" in argv and "--detach" not in argv
        }
        tops = sorted(each for each, parent in evals.items() if parent not in evals)
        pid = tops[0] if tops else None
    mark = None if pid is None else start_mark(pid)
    return (None, None) if mark is None else (pid, mark)


def last_record(out):
    """Return the last record of Inspect's start in `out`; None: there is none."""
    found = [each for each in objects_in(out, "event") if each["event"] in ("launch", "done")]
    return found[-1] if found else None


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
