"""Runs tools, each with a time limit and an output limit."""

import os
import select
import subprocess
import time

from ssh.shipped.common.children import CHILDREN, kill_group, reap_group, start_child
from ssh.shipped.common.failures import Absent, Failed, Stuck
from ssh.shipped.common.text import text_of
from ssh.shipped.common.tool_path import TOOL_PATH

MAX_OUTPUT_BYTES = 1024 * 1024


class ToolRun:
    """How a program ended: its exit status, or None and the `failure` for which it was killed."""

    def __init__(self, code, out, err, failure):
        self.code = code
        self.out = out
        self.err = err
        self.failure = failure


def tool_variables():
    """Return the variables of a tool: this program's own, with a plain PATH and locale."""
    env = dict(os.environ, PATH=TOOL_PATH, LC_ALL="C")
    env.pop("PYTHONPATH", None)
    return env


def start_tool(argv, env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE):
    """Start a program whose output is a pipe, and return it.

    Raises Absent if it does not exist, and Failed if it can't be started.
    """
    try:
        return start_child(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, cwd="/", env=env
        )
    except FileNotFoundError:
        raise Absent("%s was not found" % os.path.basename(argv[0])) from None
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise Failed(getattr(error, "strerror", None) or text_of(error)) from error


def run_tool(argv, timeout_s, max_bytes=MAX_OUTPUT_BYTES, env=None):
    """Run a program; kill it after `timeout_s` or past `max_bytes` of output. Return its ToolRun.

    Raises Absent or Failed if it can't be started. This returns only once the program is dead:
    one that even SIGKILL can't end holds its thread (and only that) for ever.
    """
    child = start_tool(argv, tool_variables() if env is None else env)
    output = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}
    out, err = list(output)
    try:
        failure = read_output(child, output, timeout_s, max_bytes)
    finally:
        kill_group(child.pid)
        child.wait()
        reap_group(child.pid, time.monotonic())
        CHILDREN.discard(child.pid)
        child.stdout.close()
        child.stderr.close()
    code = child.returncode if failure is None else None
    return ToolRun(code, bytes(output[out]), bytes(output[err]), failure)


def read_output(child, output, timeout_s, max_bytes):
    """Fill `output` (fd -> bytes) until the child ends; return None, or why to kill it."""
    end = time.monotonic() + timeout_s
    open_fds = set(output)
    while open_fds:
        left = end - time.monotonic()
        if left <= 0:
            return Stuck("no answer in %d s" % timeout_s)
        for fd in select.select(list(open_fds), [], [], min(left, 5.0))[0]:
            data = os.read(fd, 65536)
            if not data:
                open_fds.discard(fd)
            output[fd] += data
            if len(output[fd]) > max_bytes:
                del output[fd][max_bytes:]
                return Failed("more than %d bytes of output" % max_bytes)
    try:
        child.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Stuck("it closed its output but did not exit in %d s" % timeout_s)
    return None


def run_to_end(argv, timeout_s, max_bytes=MAX_OUTPUT_BYTES, env=None):
    """Like `run_tool`, but a program that had to be killed raises its failure."""
    run = run_tool(argv, timeout_s, max_bytes, env)
    if run.failure is not None:
        raise run.failure
    return run
