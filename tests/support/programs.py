"""The shipped programs as files, to start them without a link."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from ssh.shipped_program import shipped_program


@cache
def program_file(name: str) -> Path:
    """Return a file with the joined program; it is there until the tests end."""
    path = _folder() / f"{name}.py"
    path.write_bytes(shipped_program(name))
    return path


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="evalroom-programs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
