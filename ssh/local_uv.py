"""The uv program of evalroom's own environment, to copy to machines of the same platform."""

import hashlib
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from core.launch.provision.fetch_client import UvFile


@cache
def local_uv() -> UvFile | None:
    """Return the uv program; None: the uv package is not installed, or can't be read.

    Blocks while it reads about 40 MB, once: call it in a thread.
    """
    try:
        package = distribution("uv")
        listed = [each for each in package.files or () if each.name == "uv" and not each.suffix]
        path = next(Path(str(each.locate())) for each in listed if each.parent.name == "bin")
        data = path.read_bytes()
    except (PackageNotFoundError, StopIteration, OSError):
        return None
    return UvFile(
        version=package.version,
        system=platform.system(),
        processor=platform.machine(),
        libc=platform.libc_ver()[0],
        size=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        read=lambda at, most: _read(path, at, most),
    )


def _read(path: Path, at: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(most)
