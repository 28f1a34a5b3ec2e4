"""Child processes, which are killed when this program ends."""

import os
import signal
import subprocess
import time

from ssh.shipped.common.process_controls import LIBC, PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG

CHILDREN = set()  # pids
STARTS = set()  # a token for each child whose start is under way
START_WAIT_S = 1.0
END_WAIT_S = 0.5  # a killed child that takes longer is left to the system


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


def adopt_orphans():
    """Become the parent of processes that our children leave behind, to wait for them.

    The first process of a container, which would be its parent, often waits for nothing.
    """
    if LIBC is not None:
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    """Collect adopted processes that have ended, but not those of `start_child`."""
    while hasattr(os, "waitid"):
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or STARTS or ended.si_pid in CHILDREN:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)
        except OSError:
            return


def reap_group(pid, until):
    """Wait until a killed group has ended, at most until then, monotonic seconds."""
    try:
        while os.waitpid(-pid, os.WNOHANG)[0] or time.monotonic() < until:
            time.sleep(0.002)
    except OSError:
        pass  # all of it was waited for


def kill_group(pid):
    for target in (os.killpg, os.kill):
        try:
            target(pid, signal.SIGKILL)
        except OSError:
            pass


def leave(status):
    """Kill the children, wait for them, and exit, even while a write is blocked.

    A child whose start is under way is waited for: its pid is not known yet. A start that hangs
    is left after START_WAIT_S; the child itself dies with us, by its death signal.
    """
    end = time.monotonic() + START_WAIT_S
    while STARTS and time.monotonic() < end:
        time.sleep(0.002)
    for _ in range(3):
        try:
            killed = list(CHILDREN)
            for pid in killed:
                kill_group(pid)
            end = time.monotonic() + END_WAIT_S
            for pid in killed:
                reap_group(pid, end)
            break
        except RuntimeError:  # the set changed while it was read
            continue
    CHILDREN.clear()
    reap_orphans()
    os._exit(status)
