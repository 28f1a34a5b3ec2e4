"""Paths below the home folder."""

import os


def at_home(path):
    """Return a path with a leading `~/` (or `~` alone) replaced by the home folder."""
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path
