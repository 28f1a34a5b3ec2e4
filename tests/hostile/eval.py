"""A hostile eval: a process of our own account that looks like Inspect, behind a real probe.

It listens at a control socket in Inspect's folder and answers every request as it likes: with any
task rows, any names, and any place as the location of a log (another eval's log, a fifo, a device,
a file of the system, a symbolic link, a URL). It can't answer for another process's socket.
"""

import json
import os
import socket
import struct
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zstandard

from tests.support.fake_eval import FakeEval, Serve, fake_eval, http


def ended_task(name: str, log: str, **more: Any) -> dict[str, Any]:
    """Return the row of a task that says it has ended, with this log."""
    return {
        "task_id": f"id-{name}",
        "eval_id": f"eval-{name}",
        "task": name,
        "model": "m",
        "status": "completed",
        "log_location": log,
        "samples": {"total": 2, "completed": 2},
        **more,
    }


def serving(tasks: list[dict[str, Any]]) -> Serve:
    """Answer the task list with these rows, and anything else with an empty list of samples."""

    def serve(connection: socket.socket, line: str) -> bool:
        is_list = line.split()[1].partition("?")[0] == "/tasks"
        body: Any = tasks if is_list else {"as_of": 1.0, "counts": {}, "samples": []}
        connection.sendall(http(json.dumps(body).encode()))
        return True

    return serve


@contextmanager
def eval_with(data_dir: Path, *tasks: dict[str, Any]) -> Generator[FakeEval]:
    """Run an eval for the block that has these tasks."""
    with fake_eval(data_dir, serving(list(tasks))) as running:
        yield running


def odd_places(folder: Path) -> dict[str, str]:
    """Make what a location of a log may name, and return those places by a word for each."""

    os.mkfifo(folder / "fifo.eval")
    (folder / "link.eval").symlink_to("/etc/passwd")
    (folder / "zero.eval").symlink_to("/dev/zero")
    (folder / "folder.eval").mkdir()
    return {
        "fifo": str(folder / "fifo.eval"),
        "link": str(folder / "link.eval"),
        "device": "/dev/zero",
        "link to a device": str(folder / "zero.eval"),
        "folder": str(folder / "folder.eval"),
        "file of the system": "/etc/passwd",
        "URL": "http://127.0.0.1:9/x.eval",
        "chained URL": "simplecache::s3://bucket/x.eval",
        "relative": "x.eval",
        "in proc": "/proc/self/environ",
    }


ZSTANDARD = 93
"""The method of zip files with which Inspect writes its logs."""


def packed_blanks(gibibytes: int, method: int) -> bytes:
    """Return so many GiB of blanks, packed with a method of zip files."""
    piece = b" " * 2**24
    if method == ZSTANDARD:
        return zstandard.ZstdCompressor(level=3).compress(piece) * (gibibytes * 64)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    once = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return once * (gibibytes * 64) + packer.flush()


def zip_bomb(
    path: Path, member: str, gibibytes: int, *, said_size: int | None = None, method: int = 8
) -> None:
    """Write a log of a few megabytes, of which one member unpacks to so many GiB.

    Args:
        path: The file.
        member: The name of the member.
        gibibytes: Its size.
        said_size: The size that the file says it has, bytes; None: the real one.
        method: The method that the file says it is packed with; 8: deflated.
    """
    data = packed_blanks(gibibytes, method)
    size = gibibytes * 2**30 if said_size is None else said_size
    name = member.encode()
    common = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 33, 0, len(data), size, len(name), 0)
    central = b"PK\x01\x02\x14\x00" + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    local = b"PK\x03\x04" + common + name
    place = len(local) + len(data)
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(central), place, 0)
    path.write_bytes(local + data + central + end)
    with zipfile.ZipFile(path) as log:
        assert [each.file_size for each in log.infolist()] == [size]


def many_members(path: Path, count: int) -> None:
    """Write a log that says that it has so many empty members."""
    fields = struct.pack("<HHHHHIIIHHHHHII", 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    entry = b"PK\x01\x02\x14\x00" + fields + b"a"
    size = len(entry) * count
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 65535, 65535, size, 0, 0)
    path.write_bytes(entry * count + end)
