"""Child processes, which are killed when this program ends."""

import os
import signal
import subprocess
import time

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
STARTS = set()  # a token for each child whose start is under way
START_WAIT_S = 1.0


def prepare_child():
    # Runs between fork and exec: the child dies with the thread that started it, and can be
    # interrupted although our own threads block that.
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def start_child(argv, **options):
    """Start a program in a session of its own, so that `leave` kills it and its children.

    Raises what subprocess.Popen raises.
    """
    start = object()
    STARTS.add(start)
    try:
        child = subprocess.Popen(argv, start_new_session=True, preexec_fn=prepare_child, **options)
        CHILDREN.add(child.pid)
    finally:
        STARTS.discard(start)
    return child


def kill_group(pid):
    for target in (os.killpg, os.kill):
        try:
            target(pid, signal.SIGKILL)
        except OSError:
            pass


def leave(status):
    """Kill the children and exit, even while a write is blocked.

    A child whose start is under way is waited for: its pid is not known yet. A start that hangs
    is left after START_WAIT_S; the child itself dies with us, by its death signal.
    """
    end = time.monotonic() + START_WAIT_S
    while STARTS and time.monotonic() < end:
        time.sleep(0.002)
    for _ in range(3):
        try:
            for pid in list(CHILDREN):
                kill_group(pid)
            break
        except RuntimeError:  # the set changed while it was read
            continue
    os._exit(status)
