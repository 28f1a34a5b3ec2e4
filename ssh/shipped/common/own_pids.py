"""Whether this program is in a container with pids of its own."""

from ssh.shipped.common.namespaces import pid_namespace
from ssh.shipped.common.platforms import LINUX

FIRST_PID_NAMESPACE = "pid:[4026531836]"  # its number is fixed in the kernel


def has_own_pids():
    """Whether this program is in a container with pids of its own.

    What counts the processes of the whole computer is then not about this container: the load,
    and the pids in the kernel's log and in the lists of GPU tools.
    """
    return LINUX and pid_namespace("self") not in ("", FIRST_PID_NAMESPACE)
