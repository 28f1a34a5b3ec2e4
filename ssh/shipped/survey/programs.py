"""Programs of the machine, and their versions."""

import os
import re
import shutil

from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.text import first_line
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.common.tools import run_to_end, run_tool

TOOL_TIMEOUT_S = 8.0


def tool_path(name):
    """Return the path of a program; raises Absent."""
    found = find_tool(name)
    if not found:
        raise Absent("%s was not found" % name)
    return found


def message_of(run):
    """Return the first line that a program printed, else its exit status."""
    return first_line(run.err) or first_line(run.out) or "exit %s" % run.code


def output_of(argv, timeout_s=TOOL_TIMEOUT_S):
    """Return the text that a program printed; raises Absent, Stuck or Failed."""
    run = run_to_end(argv, timeout_s)
    if run.code:
        raise Failed(message_of(run))
    return run.out.decode("utf-8", "replace")


def read_version(name):
    """Return the version that a program prints, empty if it prints none; raises Absent."""
    found = tool_path(name)
    for option in ("-V", "--version"):
        run = run_tool([found, option], 3.0)
        if run.code == 0:
            return version_line(run)[:80]
    return ""


def version_line(run):
    """Return the first line with a version number that a program printed, else its first line."""
    lines = (run.out + b"\n" + run.err).decode("utf-8", "replace").splitlines()
    named = [line.strip() for line in lines if re.search(r"\d\.\d", line)]
    return named[0] if named else message_of(run)


def read_uv(path):
    """Return the version of the uv at `path`, else of the one on PATH."""
    own = at_home(path)
    found = own if os.access(own, os.X_OK) and os.path.isfile(own) else shutil.which("uv")
    if not found:
        raise Absent("uv is not installed")
    printed = output_of([found, "--version"], 5.0)
    version = re.search(r"\buv \d[^\n]*", printed)
    return {"version": (version.group() if version else printed).strip()[:80]}
