from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.small_disk import small_disk_at


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 512 KiB, which a test can fill."""
    with small_disk_at(tmp_path / "disk") as place:
        yield place
