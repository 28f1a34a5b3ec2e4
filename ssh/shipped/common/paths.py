"""Paths below the home folder."""

import os


def set_home():
    """Set HOME from the account's entry, if the login has none."""
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)
        home = os.path.expanduser("~")
        if os.path.isabs(home):
            os.environ["HOME"] = home


def at_home(path):
    """Return a path with a leading `~/` (or `~` alone) replaced by the home folder."""
    return os.path.expanduser(path) if path == "~" or path.startswith("~/") else path
