import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path, None, None]:
    """A real file system of 512 KiB, which a test can fill."""
    place = tmp_path / "disk"
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
