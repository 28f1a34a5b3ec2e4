"""Folders for their owner alone."""

import os

from ssh.shipped.common.cannot_do import not_written


def make_private(folder):
    """Make a folder and those above it that are missing, each for its owner alone."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error
