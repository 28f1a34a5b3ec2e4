"""Identifies this evalroom instance, and tells whether another instance still runs."""

import getpass
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from core.model.order import Instance
from core.text import shown

_PROC = Path("/proc")
_GIT_TIMEOUT_S = 1.0
_PS_TIMEOUT_S = 2.0
_MAX_NAME_CHARS = 100
_STATE_FIELD, _START_FIELD = 0, 19
"""Positions of the state and the start time in /proc/PID/stat, counted after the name."""


IsAlive = Callable[[Instance, Instance], bool | None]
"""The type of `is_alive`, for tests that need another answer."""


def this_instance() -> Instance:
    """Return this instance. Blocks up to a second (git config): call it in a thread."""
    return Instance(
        host=socket.gethostname(),
        boot=boot_id(),
        pid=os.getpid(),
        start=start_of(os.getpid()) or "",
        operator=operator_name(),
    )


def is_alive(instance: Instance, here: Instance) -> bool | None:
    """Return whether an evalroom instance still runs.

    Args:
        instance: The instance to check.
        here: This instance.

    Returns:
        None: unknown, because the instance is on another computer.
    """
    if instance.host != here.host:
        return None
    if instance.boot and here.boot and instance.boot != here.boot:
        return False
    start = start_of(instance.pid)
    return start is not None and (not start or not instance.start or start == instance.start)


def boot_id(proc: Path = _PROC) -> str:
    """Return an id of this computer's current boot; empty: the system has none.

    Without a boot id, `start_of` returns absolute times, which never repeat after a reboot.
    """
    try:
        return (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def start_of(pid: int, proc: Path = _PROC) -> str | None:
    """Return the start time of a process, as opaque text.

    Returns:
        None: no such process, or a zombie. Empty: it runs, but its start time is unknown.
    """
    if pid <= 0:
        return None
    if not (proc / "self").exists():
        return _start_by_ps(pid)
    try:
        words = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        state, start = words[_STATE_FIELD], words[_START_FIELD]
    except (OSError, IndexError):
        return None
    return None if state in {b"Z", b"X"} else start.decode("ascii", "replace")


def _start_by_ps(pid: int) -> str | None:
    output = _output(["ps", "-o", "stat=,lstart=", "-p", str(pid)], _PS_TIMEOUT_S)
    if output is None:
        return "" if _is_there(pid) else None
    state, _, start = output.strip().partition(" ")
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
    """Return the operator's name: git's user.name, else the login; safe to show."""
    named = _output(["git", "config", "user.name"], _GIT_TIMEOUT_S) or ""
    return _short(named) or _short(_login()) or "unknown"


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return str(os.getuid())


def _short(name: str) -> str:
    return shown(name.strip()[:_MAX_NAME_CHARS])[:_MAX_NAME_CHARS].strip()


def _output(words: Sequence[str], seconds: float) -> str | None:
    """Return a program's standard output; None: it can't be run, or timed out."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
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
