"""Finds tools, even if the login's PATH is short."""

import os

TOOL_FOLDERS = ":/usr/local/bin:/usr/bin:/bin:/usr/sbin"
TOOL_FOLDERS += ":/opt/rocm/bin:/opt/homebrew/bin:/usr/local/cuda/bin:/usr/lib/wsl/lib"
TOOL_PATH = (os.environ.get("PATH") or os.defpath) + TOOL_FOLDERS


def find_tool(name, path=TOOL_PATH):
    """Return the full path of a program; None: not found."""
    for folder in path.split(os.pathsep):
        full = os.path.join(folder or ".", name)
        if os.path.isfile(full) and os.access(full, os.X_OK):
            return full
    return None
