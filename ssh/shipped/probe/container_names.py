"""The container of a process, by its cgroup (Linux)."""

import re

from ssh.shipped.common.proc import read_file

ENGINES = {"docker": "docker", "libpod": "podman", "kubepods": "kubernetes"}


def container_of(pid):
    """Return (engine, id) of the container of a process by its cgroup; empty where unknown."""
    try:
        text = read_file("/proc/%d/cgroup" % pid).decode("ascii", "replace")
    except OSError:
        return "", ""
    for line in text.splitlines():
        found = re.search(r"([0-9a-f]{12})[0-9a-f]{52}", line)
        if found:
            names = [engine for word, engine in ENGINES.items() if word in line]
            return (names[-1] if names else ""), found.group(1)
    return "", ""
