"""The interpreter of an eval, confirmed by the kernel."""

import os

from ssh.shipped.common.inspect_commands import is_python
from ssh.shipped.common.interpreters import is_trusted, is_trusted_python
from ssh.shipped.common.tool_path import find_tool


def interpreter_of(pid, argv, env, cwd):
    """Return the path of the Python that a process runs; None: the kernel does not confirm it.

    The kernel names the file that runs. The command line's name for it is returned, because a
    virtual environment is known by that name alone; but only if it leads to that very file.
    """
    running = "/proc/%d/exe" % pid
    try:
        if not is_python(os.readlink(running)) or not is_trusted(running):
            return None
    except OSError:
        return None
    named = path_named(argv, env, cwd)
    return named if named and is_trusted_python(named) and is_same_file(named, running) else None


def path_named(argv, env, cwd):
    """Return the path of the program that a command line names first."""
    first = argv[0] if argv else ""
    if "/" in first:
        return os.path.join(cwd or "/", first)
    return find_tool(first, env.get("PATH") or os.defpath) if first else None


def is_same_file(one, other):
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False
