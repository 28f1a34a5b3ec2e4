"""Tells file systems that other hosts may write to."""

import os

from ssh.shipped.common.proc import read_file

NETWORK = frozenset(
    (
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fhgfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "virtiofs",
        "wekafs",
    )
)
MAX_MOUNTS_BYTES = 4 * 1024 * 1024


def is_on_network(path):
    """Whether a folder is on a file system that other hosts may share; True also if unknown."""
    try:
        lines = read_file("/proc/self/mountinfo", MAX_MOUNTS_BYTES).decode("utf-8", "replace")
    except OSError:
        return True
    place, kind, longest = os.path.realpath(path), None, -1
    for line in lines.splitlines():
        fields, _, rest = line.partition(" - ")
        words, types = fields.split(" "), rest.split(" ")
        if len(words) < 5:
            continue
        point = words[4].replace("\\040", " ").rstrip("/")
        if (place == point or place.startswith(point + "/")) and len(point) >= longest:
            longest, kind = len(point), types[0]
    return kind is None or kind in NETWORK or kind.startswith("fuse")
