"""Interpreters that this program may run."""

import os

from ssh.shipped.common.inspect_commands import is_python

OTHERS_CAN_WRITE = 0o002


def is_trusted_python(path):
    """Whether a path is a Python by name, and it and its folder belong to root or this user."""
    try:
        is_there = os.path.isabs(path) and is_python(path) and os.access(path, os.X_OK)
        return is_there and is_trusted(path) and is_trusted(os.path.dirname(path))
    except (OSError, ValueError):
        return False


def is_trusted(path):
    """Whether root or this user owns what a path leads to, and not everybody can write to it."""
    found = os.stat(path)
    return found.st_uid in (0, os.getuid()) and not found.st_mode & OTHERS_CAN_WRITE
