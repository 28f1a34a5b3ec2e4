"""Child processes, which are killed when this program ends."""

import os
import signal

from ssh.shipped.common.platforms import LINUX

LIBC = None
if LINUX:
    try:
        import ctypes

        LIBC = ctypes.CDLL(None)
    except (ImportError, OSError):
        LIBC = None

PR_SET_PDEATHSIG = 1
CHILDREN = set()  # pids


def prepare_child():
    # Runs between fork and exec: the child dies with the thread that started it, and can be
    # interrupted although our own threads block that.
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def kill_group(pid):
    for target in (os.killpg, os.kill):
        try:
            target(pid, signal.SIGKILL)
        except OSError:
            pass


def leave(status):
    """Kill the children and exit, even while a write is blocked."""
    for _ in range(3):
        try:
            for pid in list(CHILDREN):
                kill_group(pid)
            break
        except RuntimeError:  # the set changed while it was read
            continue
    os._exit(status)
