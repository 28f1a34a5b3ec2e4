"""What the kernel lets a process set for itself and its children (`prctl`)."""

from ssh.shipped.common.platforms import LINUX

LIBC = None  # another system than Linux, or a Python without libffi
if LINUX:
    try:
        import ctypes

        LIBC = ctypes.CDLL(None)
    except (ImportError, OSError):
        pass

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
