"""A real control group with little memory, of version 1 or 2."""
# pyright: standard
# The shipped programs have no types.

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ssh.shipped.common.cgroup import folders_of
from tests.support.waiting import wait_until


@contextmanager
def memory_group(size: int) -> Generator[Path]:
    """Make a control group of `size` bytes below that of this process, for the block.

    At its end, what is in the group must have ended or be ending.
    """
    version, folder = folders_of("memory")[0]
    made = Path(folder) / f"evalroom-test-{os.getpid()}"
    made.mkdir()
    try:
        limit = "memory.max" if version == 2 else "memory.limit_in_bytes"
        (made / limit).write_text(str(size))
        yield made
    finally:
        wait_until(lambda: not (made / "cgroup.procs").read_text(), "the group is empty")
        made.rmdir()
