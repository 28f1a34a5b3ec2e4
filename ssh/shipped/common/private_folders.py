"""Folders that only their owner can use."""

import os

from ssh.shipped.common.cannot_do import not_written


def make_private(folder):
    """Create a folder and its missing parents, with mode 0700."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
