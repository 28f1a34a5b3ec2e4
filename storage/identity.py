"""Which evalroom this is, and whether another one still runs."""

import getpass
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from core.model.order import Instance
from core.text import shown

_PROC = Path("/proc")
_GIT_SECONDS = 1.0
_PS_SECONDS = 2.0
_NAME_MOST = 100
_STATE, _START = 0, 19
"""Where a process's state and its start stand in its `stat`, counted behind its name."""


def this_instance() -> Instance:
    """Return this evalroom. It asks git for a name: up to a second, off the loop."""
    return Instance(
        host=socket.gethostname(),
        boot=boot_id(),
        pid=os.getpid(),
        start=start_of(os.getpid()) or "",
        operator=operator_name(),
    )


def is_alive(instance: Instance, here: Instance) -> bool | None:
    """Return whether an evalroom runs.

    Args:
        instance: Which.
        here: This evalroom.

    Returns:
        None: it is on another computer, and can't be known.
    """
    if instance.host != here.host:
        return None
    if instance.boot and here.boot and instance.boot != here.boot:
        return False
    start = start_of(instance.pid)
    return start is not None and (not start or not instance.start or start == instance.start)


def boot_id(proc: Path = _PROC) -> str:
    """Return what tells one run of this computer from the next.

    Where the system names none it is empty, and starts of processes are moments, which no
    later run repeats.
    """
    try:
        return (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def start_of(pid: int, proc: Path = _PROC) -> str | None:
    """Return when a process began, as opaque text.

    Returns:
        None: there is no such process, or it only waits to be reaped. Empty: it runs, and
        that is all that can be said.
    """
    if pid <= 0:
        return None
    if not (proc / "self").exists():
        return _start_by_ps(pid)
    try:
        words = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        state, start = words[_STATE], words[_START]
    except (OSError, IndexError):
        return None
    return None if state in {b"Z", b"X"} else start.decode("ascii", "replace")


def _start_by_ps(pid: int) -> str | None:
    said = _output(["ps", "-o", "stat=,lstart=", "-p", str(pid)], _PS_SECONDS)
    if said is None:
        return "" if _is_there(pid) else None
    state, _, start = said.strip().partition(" ")
    return None if not state or state.startswith("Z") else start.strip()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def operator_name() -> str:
    """Return who works here: as git knows them, else their login; harmless."""
    named = _output(["git", "config", "user.name"], _GIT_SECONDS) or ""
    return _short(named) or _short(_login()) or "unknown"


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid())


def _short(name: str) -> str:
    return shown(name.strip()[:_NAME_MOST])[:_NAME_MOST].strip()


def _output(words: Sequence[str], seconds: float) -> str | None:
    """Return what a program printed; None: it is not there, or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603 - words of ours
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.decode("utf-8", "replace")
