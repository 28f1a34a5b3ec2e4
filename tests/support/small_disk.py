"""A real file system of 512 KiB, which a test can fill."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk_at(place: Path) -> Generator[Path, None, None]:
    """Mount one at `place` for the block; skip where only root could."""
    place.mkdir()
    mounted = (
        os.geteuid() == 0
        and not subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", place],
            check=False,
            capture_output=True,
        ).returncode
    )
    if not mounted:
        pytest.skip("a small file system can be mounted by root alone")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)
