"""No core dumps of evalroom: its memory may hold passwords and secrets."""

import contextlib
import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Let neither this process nor its children leave a core dump.

    On Linux, no other process of this account can read this one's memory from then on. A child
    may raise its own limit again.
    """
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        # A kernel that pipes dumps to a program ignores the limit.
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
