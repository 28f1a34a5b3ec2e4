"""Detects network file systems: SQLite's write-ahead log does not work on them."""

import os
from pathlib import Path

_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "lustre", "gpfs", "ceph", "beegfs")
)
_MOUNTS = Path("/proc/self/mountinfo")


def is_network(path: Path, mounts: Path = _MOUNTS) -> bool:
    """Return whether `path` is on a network file system; False if unknown."""
    kind = _kind(os.path.realpath(path), mounts)
    return kind in _NETWORK or kind.startswith("fuse.")


def _kind(path: str, mounts: Path) -> str:
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:  # noqa: PLR2004 - the mount point is the fifth
            continue
        point = fields[4].replace("\\040", " ")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind
