"""Reservations of GPUs: lock files that name the processes that use the GPU."""

import os
import re

from ssh.shipped.common.namespaces import shares_our_pids
from ssh.shipped.common.proc import BOOT_ID, start_mark, stat_of

TURN_FILE = "turn.lock"  # held by a process that picks GPUs


def is_same_process(pid, start):
    """Whether the process that a reservation names (pid as text, start mark) is still alive.

    A process of another account that can't be read counts as the same one; one of a container
    does not, because its own start would have named the pid that it has there.
    """
    if not re.match(r"[1-9][0-9]{0,8}\Z", pid):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another account's
    if not BOOT_ID or stat_of(int(pid)) is None:
        return True
    return start_mark(int(pid)) == start and shares_our_pids(int(pid))
