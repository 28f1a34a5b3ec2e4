"""Starts the run's command, which inherits the locks, or leaves a process that holds them."""

import os
import subprocess
import sys

from ssh.shipped.common.proc import stat_of
from ssh.shipped.common.process_controls import PR_SET_CHILD_SUBREAPER
from ssh.shipped.gpu_holder.reservations import write_owner

try:
    import ctypes
except ImportError:  # a Python without libffi
    ctypes = None

EXIT_NOT_STARTED = 127


def become(command, env, taken):
    """Replace this process with the command; exits with a message if that fails."""
    for _, fd in taken:
        os.set_inheritable(fd, True)
    try:
        os.execvpe(command[0], command, env)
    except OSError as error:
        sys.exit("evalroom: %s can't be started: %s" % (command[0], error.strerror))


def keep(command, env, taken, record):
    """Start the command, return its exit status, and leave a holder behind."""
    reads, writes = os.pipe()
    if os.fork():
        os.close(writes)
        status = os.read(reads, 16)
        if not status:
            sys.exit("evalroom: the process that holds the GPUs ended before the run started")
        return int(status)
    try:
        os.close(reads)
        os.setsid()
        if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0:
            hold(command, env, taken, record, writes)
    finally:
        os._exit(0)


def hold(command, env, taken, record, writes):
    """Start the command, report its status through the pipe, wait for what it left behind."""
    try:
        child = subprocess.Popen(command, env=env)
    except OSError as error:
        sys.stderr.write("evalroom: %s can't be started: %s\n" % (command[0], error.strerror))
        sys.stderr.flush()
        os.write(writes, b"%d" % EXIT_NOT_STARTED)
        return
    close_others({writes, *(fd for _, fd in taken)})
    try_to(write_owner, taken, record, [child.pid])
    status = child.wait()
    left = children_of_ours()
    try_to(write_owner, taken, record, left)
    try_to(os.write, writes, b"%d" % (status if status >= 0 else 128 - status))
    try_to(os.close, writes)
    while left:
        left.discard(os.wait()[0])
    for _, fd in taken:
        try_to(os.ftruncate, fd, 0)


def children_of_ours():
    """Return the pids of this process's children, adopted ones too."""
    mine, found = os.getpid(), set()
    for name in os.listdir("/proc"):
        stat = stat_of(int(name)) if name.isdigit() else None
        if stat is not None and stat[1] == mine:
            found.add(int(name))
    return found


def close_others(needed):
    """Close all other files, such as a link's channel or a terminal."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (int(name) for name in os.listdir("/proc/self/fd")):
        if fd < 3:
            os.dup2(null, fd)
        elif fd not in needed and fd != null:
            try_to(os.close, fd)
    os.chdir("/")


def try_to(do, *given):
    try:
        do(*given)
    except OSError:
        pass  # a full disk, or the starting process is gone: the locks stay held
