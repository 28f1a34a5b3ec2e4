"""Whether a process is alive, and when it started."""

import os
import re

from ssh.shipped.common.platforms import LINUX
from ssh.shipped.common.proc import read_file, start_mark, stat_of

TICKS_PER_S = float(os.sysconf("SC_CLK_TCK")) if LINUX else 100.0


def start_of(pid, started_at):
    """Return a mark that tells a reused pid apart; None: no such process is alive."""
    if LINUX:
        return start_mark(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "r-%s" % started_at


def start_time_of(pid):
    """Return when a process started, Unix seconds; None: unknown."""
    found, booted = stat_of(pid), boot_time()
    return None if found is None or booted is None else booted + found[2] / TICKS_PER_S


def boot_time():
    try:
        found = re.search(rb"^btime (\d+)", read_file("/proc/stat", 1024 * 1024), re.MULTILINE)
        return float(found.group(1)) if found else None
    except OSError:
        return None
