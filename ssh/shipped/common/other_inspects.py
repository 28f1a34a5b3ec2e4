"""Interpreters of this machine that may have Inspect, apart from those that a desk names."""

import os

from ssh.shipped.common.interpreters import is_trusted_python
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.tool_path import find_tool

EVALROOM_UV = "~/.evalroom/bin/uv"
MAX_FIRST_LINE_BYTES = 1024


def other_inspects():
    """Return the words that start each: the Python of the `inspect` on the PATH, evalroom's uv."""
    found = []
    python = python_of_script(find_tool("inspect") or "")
    if python is not None:
        found.append([python])
    uv = at_home(EVALROOM_UV)
    if os.access(uv, os.X_OK):
        found.append([uv, "tool", "run", "--offline", "--from", "inspect-ai", "python"])
    return found


def python_of_script(path):
    """Return the trusted Python that a script's first line names; None: it names none."""
    try:
        with open(path, "rb") as file:
            line = file.readline(MAX_FIRST_LINE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    words = line[2:].split() if line.startswith("#!") else []
    return words[0] if words and is_trusted_python(words[0]) else None
