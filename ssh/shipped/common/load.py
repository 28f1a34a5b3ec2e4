"""The load of the machine."""

import os

from ssh.shipped.common.own_pids import has_own_pids


def read_load():
    """Return the load over 1, 5 and 15 minutes; empty: unknown.

    In a container the kernel gives the load of the whole computer, which says nothing about the
    CPUs of the container.
    """
    try:
        return [] if has_own_pids() else list(os.getloadavg())
    except OSError:
        return []
