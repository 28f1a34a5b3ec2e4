"""Finds tools, even if the login's PATH is short."""

import os
import stat

TOOL_FOLDERS = ":/usr/local/bin:/usr/bin:/bin:/usr/sbin"
TOOL_FOLDERS += ":/opt/rocm/bin:/opt/homebrew/bin:/usr/local/cuda/bin:/usr/lib/wsl/lib"
TOOL_PATH = (os.environ.get("PATH") or os.defpath) + TOOL_FOLDERS


def find_tool(name, path=TOOL_PATH):
    """Return the full path of a program; None: not found.

    A relative folder of PATH is left out, because the current folder may be an eval's; so is a
    program that every account can write or replace.
    """
    for folder in path.split(os.pathsep):
        full = os.path.join(folder, name)
        if not os.path.isabs(folder) or not os.access(full, os.X_OK) or not os.path.isfile(full):
            continue
        if not (is_open_to_all(folder) or is_open_to_all(full)):
            return full
    return None


def is_open_to_all(path):
    """Whether every account can write this file or folder."""
    try:
        return bool(os.stat(path).st_mode & stat.S_IWOTH)
    except OSError:
        return True
