"""Which places are read as logs: an eval names them, and it may name anything."""

import os
import re
import signal
import stat
import zipfile
from contextlib import contextmanager

from ssh.shipped.log_script.texts import Refused
from ssh.shipped.log_script.unpacking import unpacked_size

MAX_READ_S = 45.0  # of one log
MAX_JSON_LOG_BYTES = 256 * 1024 * 1024  # Inspect reads a .json log as a whole
MAX_MEMBER_BYTES = 256 * 1024 * 1024  # of a header or of summaries, as they are unpacked
MAX_MEMBERS = 250000
MAX_DIRECTORY_BYTES = 32 * 1024 * 1024  # the list of members; a member has 100 bytes or so
LOG_NAME = re.compile(r".+\.(?:eval|json)\Z", re.DOTALL)
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
READ_AS_A_WHOLE = re.compile(r"header\.json|(?:.*/)?(?:start|summaries|\d+)\.json|.*summaries.*")


def local_path(path):
    """Return the path of a log on this machine; None: the log is a remote one."""
    if path.startswith("file://"):
        return path[len("file://") :]
    return None if "://" in path else path


def check_place(path, schemes):
    """Raise Refused unless a log may be read there.

    A log is a regular file with the name of a log, in a folder that this user can list; or it is at
    a URL whose scheme is one of `schemes` (None: any).
    """
    local = local_path(path)
    if local is None:
        check_url(path, schemes)
        return
    if not os.path.isabs(local) or "\0" in local:
        raise Refused("its path is not absolute")
    if LOG_NAME.match(local) is None:
        raise Refused("its name is not that of a log (.eval or .json)")
    found = os.lstat(local)
    if not stat.S_ISREG(found.st_mode):
        raise Refused("it is not a regular file")
    if not os.access(os.path.dirname(local), os.R_OK | os.X_OK):
        raise Refused("this user can't list its folder")
    if local.endswith(".json"):
        refuse_above(found.st_size, MAX_JSON_LOG_BYTES, "a .json log")
    else:
        refuse_bombs(local)


def check_url(path, schemes):
    found = SCHEME.match(path)
    if found is None or "::" in path:
        raise Refused("it is not a plain URL")
    if schemes is not None and found.group(1).lower() not in schemes:
        words = (found.group(1)[:20],) * 2
        raise Refused(
            "evalroom reads no logs at %s://; if you trust the evals of this machine, add %r to"
            " schemes of [logs] in the config" % words
        )


def refuse_bombs(local):
    """Raise Refused if what is read as a whole of a log is very large, unpacked.

    The sizes that the file states may be false, so each such member is unpacked here, piece by
    piece.
    """
    with open(local, "rb") as file:
        refuse_above(directory_size(file), MAX_DIRECTORY_BYTES, "a list of members")
        try:
            with zipfile.ZipFile(file) as log:
                members = log.infolist()
        except zipfile.BadZipFile:
            return  # Inspect says what is wrong with it
        if len(members) > MAX_MEMBERS:
            raise Refused("it has more than %d members" % MAX_MEMBERS)
        whole = [each for each in members if READ_AS_A_WHOLE.match(each.filename)]
        said = sum(each.file_size for each in whole)
        refuse_above(said, MAX_MEMBER_BYTES, "a header and summaries")
        left = MAX_MEMBER_BYTES
        for each in whole:
            left -= unpacked_size(file, each, left)
            if left < 0:
                raise Refused("a header and summaries that are larger than the log says")


def directory_size(file):
    """Return how many bytes the list of members of a zip file has; 0: it is not one."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 70000))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 16:
        return 0
    size = int.from_bytes(tail[at + 12 : at + 16], "little")
    if size == 0xFFFFFFFF:  # then it stands in a record of its own
        large = tail.rfind(b"PK\x06\x06", 0, at)
        size = int.from_bytes(tail[large + 40 : large + 48], "little") if large >= 0 else 0
    return size


def refuse_above(size, limit, what):
    if size > limit:
        megabytes = (what, size >> 20, limit >> 20)
        raise Refused("%s of %d MiB; evalroom reads at most %d MiB" % megabytes)


@contextmanager
def time_limit(seconds=MAX_READ_S):
    """Raise Refused in the block once `seconds` have passed, such as on a file that hangs."""

    def end(*_):
        raise Refused("reading it took more than %d s" % seconds)

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again, if a library swallows the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
