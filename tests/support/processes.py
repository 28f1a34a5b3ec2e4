"""Processes of this computer, as /proc tells them.

For an instant after a start (in `exec`) the kernel tells an empty command line and no variables.
Nothing here takes that for an answer: it reads again until the program is there, or has ended.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import WAIT_S, wait_until

_IN_EXEC_S = 0.5
"""How long a look at all processes waits for one; some have no variables for good."""


def all_pids() -> list[int]:
    """The pids of all processes."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def lives(pid: int) -> bool:
    """Whether a process is there and has not ended: a zombie has."""
    return _state(pid) not in {"", "Z", "X"}


def parent_of(pid: int) -> int:
    """The parent of a process that is there."""
    return int(_stat(pid)[1])


def is_below(pid: int, ancestor: int) -> bool:
    """Whether a process is that one, or its child, or a child of its child, and so on."""
    while pid > 1 and pid != ancestor:
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return pid == ancestor


def children_of(pid: int) -> list[int]:
    """The living children of a process; their own children not."""
    found: list[int] = []
    for each in all_pids():
        fields = _stat(each)
        if fields and int(fields[1]) == pid and fields[0] not in "ZX":
            found.append(each)
    return found


def environ_of(pid: int) -> Mapping[str, str]:
    """The variables of a living process.

    Raises:
        AssertionError: It ended, or has none.
    """
    return _variables(_wanted(pid, "environ"))


def words_of(pid: int) -> list[str]:
    """The command line of a living process.

    Raises:
        AssertionError: It ended, or has none.
    """
    return _wanted(pid, "cmdline").decode(errors="surrogateescape").split("\0")[:-1]


def command_of(pid: int) -> str:
    """The command line of a process, joined by spaces; empty where it ended."""
    return _settled(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def with_words(text: str) -> list[int]:
    """The pids of other living processes in whose command line a text stands."""
    return [pid for pid in all_pids() if pid != os.getpid() and text in command_of(pid)]


def with_variable(name: str, value: str) -> list[int]:
    """The pids of living processes that have this variable."""
    mark = f"{name}={value}".encode()
    return [pid for pid in all_pids() if mark in _settled(pid, "environ").split(b"\0")]


def holding(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """Other processes in whose arguments a text stands, and those in whose variables: pid, name."""
    found: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for pid in all_pids():
        if pid == os.getpid():
            continue
        for place, name in zip(found, ("cmdline", "environ"), strict=True):
            if text.encode() in _settled(pid, name):
                with suppress(OSError):
                    place[pid] = Path(f"/proc/{pid}/comm").read_text().strip()
    return found


def working_in(folder: Path, *, as_seen_by: int | None = None) -> list[int]:
    """The pids of processes whose working folder is `folder`, or lies in it.

    Args:
        folder: A folder.
        as_seen_by: A process; only those with its mounts count. Else the folder of that name in
            another's mounts counts too.
    """
    found: list[int] = []
    for pid in all_pids():
        with suppress(OSError):
            is_there = Path(f"/proc/{pid}/cwd").readlink().is_relative_to(folder)
            if is_there and (as_seen_by is None or _mounts(pid) == _mounts(as_seen_by)):
                found.append(pid)
    return found


def _mounts(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/mnt").readlink()


def wait_gone(pids: Callable[[], list[int]], what: str, seconds: float = WAIT_S) -> None:
    """Wait until there are no such processes; the test has seen them before."""
    wait_until(
        lambda: not pids(),
        f"{what} gone",
        seconds,
        seen=lambda: [(pid, command_of(pid)) for pid in pids()],
    )


def _variables(data: bytes) -> Mapping[str, str]:
    lines = data.decode(errors="surrogateescape").split("\0")
    return {name: value for name, found, value in (x.partition("=") for x in lines) if found}


def _wanted(pid: int, name: str) -> bytes:
    def read() -> bytes:
        assert lives(pid), f"process {pid} ended"
        return _read(pid, name)

    return wait_until(read, f"process {pid} has its {name}", every=0.005)


def _settled(pid: int, name: str) -> bytes:
    """What /proc tells; where that is nothing, the process has ended, or has none for good."""
    end = time.monotonic() + _IN_EXEC_S
    while not (data := _read(pid, name)) and _has_memory(pid) and time.monotonic() < end:
        time.sleep(0.005)
    return data


def _has_memory(pid: int) -> bool:
    """Whether it is a program: what has ended, and the kernel's own threads, have no memory."""
    try:
        return Path(f"/proc/{pid}/statm").read_text().split()[0] != "0"
    except OSError:
        return False


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # it ended, or is someone else's
        return b""


def _state(pid: int) -> str:
    fields = _stat(pid)
    return fields[0] if fields else ""


def _stat(pid: int) -> list[str]:
    """Its fields from the state on; none where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
