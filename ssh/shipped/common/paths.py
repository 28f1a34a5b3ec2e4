"""Paths below the home folder."""

import os


def set_home():
    """Set HOME, for us and all that we start, where a login has none: by the account's entry."""
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)
        home = os.path.expanduser("~")
        if os.path.isabs(home):
            os.environ["HOME"] = home


def at_home(path):
    """Return a path with a leading `~/` (or `~` alone) replaced by the home folder."""
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path
