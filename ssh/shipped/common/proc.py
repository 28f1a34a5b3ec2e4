"""Processes as /proc shows them (Linux)."""

import os
import subprocess
import time

from ssh.shipped.common.platforms import LINUX

PS_TIMEOUT_S = 5.0
MAX_RECORD_BYTES = 64 * 1024


def read_file(path, max_bytes=MAX_RECORD_BYTES):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        out = b""
        while len(out) < max_bytes:
            data = os.read(fd, max_bytes - len(out))
            if not data:
                break
            out += data
        return out
    finally:
        os.close(fd)


def boot_id():
    try:
        return read_file("/proc/sys/kernel/random/boot_id").decode("ascii").strip()
    except (OSError, ValueError):
        return ""


BOOT_ID = boot_id()


def stat_of(pid):
    """Return (state letter, parent pid, start ticks); None: no such process."""
    try:
        data = read_file("/proc/%d/stat" % pid, 4096)
    except OSError:
        return None
    fields = data[data.rfind(b")") + 2 :].split()
    try:
        return fields[0].decode("ascii"), int(fields[1]), int(fields[19])
    except (IndexError, ValueError):
        return None


def start_mark(pid):
    """Return a mark that tells a reused pid apart; None: no such process is alive."""
    found = stat_of(pid)
    if found is None or found[0] in "ZX":
        return None
    return "%s-%d" % (BOOT_ID[:8], found[2])


def uid_of(pid):
    """Return the uid of a process; None: it can't be read."""
    try:
        data = read_file("/proc/%d/status" % pid, 4096)
    except OSError:
        return None
    for line in data.split(b"\n"):
        if line.startswith(b"Uid:"):
            words = line.split()
            return int(words[1]) if len(words) > 1 and words[1].isdigit() else None
    return None


def age_of(mark):
    """Return the seconds since the process with this mark started; None: unknown."""
    _, _, ticks = mark.rpartition("-")
    try:
        started_at = int(ticks) / float(os.sysconf("SC_CLK_TCK"))
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started_at
    except (AttributeError, OSError, ValueError):
        return None  # not on Linux


def environ_of(pid):
    try:
        data = read_file("/proc/%d/environ" % pid, 512 * 1024)
    except OSError:
        return {}
    env = {}
    for pair in data.split(b"\0"):
        name, equals, value = pair.partition(b"=")
        if equals:
            env[name.decode("utf-8", "replace")] = os.fsdecode(value)
    return env


def argv_of(pid):
    """Return the command line of a process; None: it can't be read."""
    if not LINUX:
        return argv_by_ps(pid)
    try:
        data = read_file("/proc/%d/cmdline" % pid, 256 * 1024)
    except OSError:
        return None
    if not data:
        return None
    return [word.decode("utf-8", "replace") for word in data.rstrip(b"\0").split(b"\0")]


def argv_by_ps(pid):
    """Return the command line as `ps` prints it, cut at blanks: systems without /proc."""
    argv = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    try:
        out = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=PS_TIMEOUT_S,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return out.decode("utf-8", "replace").split() or None
