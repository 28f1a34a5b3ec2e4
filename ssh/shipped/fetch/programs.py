"""Runs programs that fetch, each with a time limit."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.common.umask import LOGIN_UMASK

MAX_OUT_BYTES = 1024 * 1024
ERR_TAIL_BYTES = 8 * 1024
MAX_MESSAGE = 400  # characters
JOIN_TIMEOUT_S = 2.0
CHILDREN = {}  # pid -> Popen
CHILDREN_LOCK = threading.Lock()


class Finished:
    """How a program ended: its exit status, the start of its output, the end of its errors."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def run(words, until, env=None, cwd=None, keep_fd=None):
    """Run a program to its end, in a session of its own, without a terminal or an input.

    It is killed at `until` (monotonic seconds), which raises CannotDo; so does a program that
    can't be started. The child inherits `keep_fd`.
    """
    with CHILDREN_LOCK:
        try:
            child = subprocess.Popen(
                words,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=with_login_umask,
                pass_fds=() if keep_fd is None else (keep_fd,),
            )
        except OSError as error:
            what = os.path.basename(words[0])
            raise CannotDo("%s can't be run: %s" % (what, error.strerror or error)) from error
        CHILDREN[child.pid] = child
    out, err = bytearray(), bytearray()
    readers = [
        threading.Thread(target=read_begin, args=(child.stdout, out), daemon=True),
        threading.Thread(target=read_end, args=(child.stderr, err), daemon=True),
    ]
    for each in readers:
        each.start()
    try:
        status = child.wait(max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        status = None
    finally:
        for each in readers if child.returncode is not None else ():
            each.join(JOIN_TIMEOUT_S)
        with CHILDREN_LOCK:
            end_group(child.pid)
            child.wait()
            CHILDREN.pop(child.pid, None)
    for each in readers:
        each.join(JOIN_TIMEOUT_S)
    done = Finished(
        status, bytes(out).decode("utf-8", "replace"), bytes(err).decode("utf-8", "replace")
    )
    if status is None:
        what = " ".join([os.path.basename(words[0]), *[w for w in words[1:] if w.isalpha()][:2]])
        last = one_line(done.err)
        raise CannotDo(
            "%s took too long and was killed%s" % (what, ": " + last if last else ""),
            "check the network of that machine, then try again",
        )
    return done


def with_login_umask():
    # What these programs write, such as a checkout or a shared cache, has the login's modes.
    os.umask(LOGIN_UMASK)


def read_begin(pipe, kept):
    for data in iter(lambda: pipe.read1(65536), b""):
        if len(kept) < MAX_OUT_BYTES:
            kept += data


def read_end(pipe, kept):
    for data in iter(lambda: pipe.read1(65536), b""):
        kept += data
        del kept[:-ERR_TAIL_BYTES]


def end_group(pid):
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def exit_with_the_input():
    """Kill the children and exit once the input ends: no one waits for the answer any more."""
    while sys.stdin.buffer.read(1):
        pass
    with CHILDREN_LOCK:
        for pid in CHILDREN:
            end_group(pid)
        os._exit(1)


def one_line(text):
    """Return the end of a program's output, on one line."""
    return " ".join(text.split())[-MAX_MESSAGE:]


def exception_of(text):
    """Return the exception with which a Python program ended, without its traceback."""
    rest = text[text.rfind("\n  File ") + 1 :].splitlines()
    return one_line("\n".join(line for line in rest if not line.startswith(" "))) or one_line(text)
