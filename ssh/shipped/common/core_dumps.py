"""No core dumps of programs that hold secrets: a dump would keep them on a disk."""

try:
    import resource
except ImportError:  # pragma: no cover - every machine we know has it
    resource = None

PR_SET_DUMPABLE = 4


def limit_core_dumps():
    """Let neither this program nor its children leave a core dump."""
    if resource is not None:
        try:
            hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        except (OSError, ValueError):
            pass


def be_undumpable():
    """Let this program leave no core dump, wherever the kernel sends them; a child may leave one.

    No other process of this account can read its memory from then on.
    """
    try:
        import ctypes  # noqa: PLC0415 - a program may do without it

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # no Linux, or a Python without libffi
