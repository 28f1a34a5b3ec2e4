"""uv in `~/.evalroom/bin`: sent in pieces, copied on this machine, or installed by pip.

Machines of several platforms may share the home: each has a uv of its own there, and `uv` starts
the one of the machine that it runs on.
"""

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import zlib

from ssh.shipped.common.cannot_do import CannotDo, no_space
from ssh.shipped.common.private_folders import make_private
from ssh.shipped.fetch.files import lock, remove, writing
from ssh.shipped.fetch.job import HOME, until_of
from ssh.shipped.fetch.programs import one_line, run

BIN = os.path.join(HOME, ".evalroom", "bin")
TARGET = os.path.join(BIN, "uv")
OWN = os.path.join(BIN, "uv-%s-%s" % (os.uname().sysname, os.uname().machine))
STARTER = b"""#!/bin/sh
# Machines that share this home have a uv for each platform.
platform=$(PATH="$PATH:/usr/bin:/bin"; echo "$(uname -s)-$(uname -m)")
exec "${0%/*}/uv-$platform" "$@"
"""
LOCK = os.path.join(BIN, "uv.lock")
MAX_PIECE_BYTES = 16 * 1024 * 1024
VERSION_TIMEOUT_S = 20
MAGIC_NUMBERS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
USUAL_FOLDERS = (".local/bin", ".cargo/bin")
HOW_TO_GET_UV = (
    "put uv into ~/.evalroom/bin there, or name a `python` that has Inspect, in the spec"
    " or in the config"
)


def fetch_uv(given):
    """Get a uv that is new enough; return its path, or the offset of the next byte to send."""
    make_private(BIN)
    found = installed(given)
    if found:
        return found
    offer = given.get("offer")
    if offer and fits_here(offer):
        return {"wants": file_size(part_of(offer))}
    until = until_of(given)
    with lock(LOCK, until) as lock_fd:
        found = installed(given)
        if found:
            return found
        return copy_another(given) or get_by_pip(given, until, lock_fd)


def take_uv_piece(given, body):
    """Receive a piece of the uv that the desk sends; the last piece installs it."""
    offer = given["offer"]
    make_private(BIN)
    try:
        data = zlib.decompressobj().decompress(body, MAX_PIECE_BYTES)
    except zlib.error as error:
        raise CannotDo("a piece of uv arrived damaged") from error
    with lock(LOCK, until_of(given)):
        found = installed(given)
        if found:
            return found
        part = part_of(offer)
        if file_size(part) != given["at"]:
            return {"wants": file_size(part)}
        try:
            with writing(BIN), open(part, "ab") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except CannotDo:
            remove(part)
            raise
        if file_size(part) < offer["size"]:
            return {"wants": file_size(part)}
        if sha256_of(part) != offer["sha256"]:
            remove(part)
            return {"wants": 0}
        if not put_in_place(part, given):
            return {"refused": "the uv that evalroom sent does not run there"}
    return dict(installed(given), how="sent")


def installed(given):
    """Return the installed uv; None: none, or it is too old."""
    version = version_of(TARGET)
    if version is None or not is_at_least(version, given["least"]):
        return None
    return {"path": TARGET, "version": version, "how": "there"}


def put_in_place(made, given):
    """Install a uv and return True; if it does not run or is too old, remove it."""
    try:
        with writing(TARGET):
            os.chmod(made, 0o755)
            version = version_of(made)
            if version is None or not is_at_least(version, given["least"]):
                return False
            os.replace(made, OWN)
            start_own()
    finally:
        remove(made)
    for name in os.listdir(BIN):
        if name.startswith("uv-") and name.endswith(".part"):
            remove(os.path.join(BIN, name))
    return True


def start_own():
    """Make `uv` the starter of the uv of each platform."""
    if is_starter(TARGET):
        return
    made = new_part()
    with open(made, "wb") as file:
        file.write(STARTER)
    os.chmod(made, 0o755)
    os.replace(made, TARGET)


def is_starter(path):
    try:
        with open(path, "rb") as file:
            return file.read(len(STARTER) + 1) == STARTER
    except OSError:
        return False


def copy_another(given):
    """Copy a uv of this machine; None: it has none. A symlink could break later."""
    usual = [os.path.join(HOME, folder, "uv") for folder in USUAL_FOLDERS]
    for path in (shutil.which("uv"), *usual):
        if path is None or not is_binary(path):
            continue
        made = new_part()
        with writing(made):
            shutil.copyfile(path, made)
        if put_in_place(made, given):
            return dict(installed(given), how="copied")
    return None


def get_by_pip(given, until, lock_fd):
    """Let this machine's pip install uv into a folder of evalroom's, not into any environment."""
    for name in os.listdir(BIN):
        if name.startswith("pip-"):  # left by an interrupted job: we hold the lock
            remove(os.path.join(BIN, name))
    folder = tempfile.mkdtemp(prefix="pip-", dir=BIN)
    env = dict(os.environ, PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", PIP_NO_INPUT="1")
    try:
        where = os.path.join(folder, "uv")
        words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps"]
        words += ["--target", where, "uv>=" + given["least"]]
        done = run([sys.executable, *words], until, env, folder, lock_fd)
        if done.status != 0 and "No module named pip" in done.err:
            venv = os.path.join(folder, "venv")
            done = run([sys.executable, "-m", "venv", venv], until, env, folder, lock_fd)
            if done.status == 0:
                python = os.path.join(venv, "bin", "python")
                done = run([python, *words], until, env, folder, lock_fd)
        if done.status == 0:
            made = new_part()
            with writing(made):
                shutil.copyfile(os.path.join(where, "bin", "uv"), made)
            if put_in_place(made, given):
                return dict(installed(given), how="pip")
            raise CannotDo("the uv that pip installed does not run there", HOW_TO_GET_UV)
        if "No space left" in done.err:
            raise no_space(BIN)
        raise CannotDo("pip can't install uv: %s" % one_line(done.err or done.out), HOW_TO_GET_UV)
    finally:
        remove(folder)


def new_part():
    fd, path = tempfile.mkstemp(prefix="uv-", suffix=".part", dir=BIN)
    os.close(fd)
    return path


def part_of(offer):
    return os.path.join(BIN, "uv-%s.part" % re.sub(r"\W", "", offer["sha256"])[:32])


def file_size(path):
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for data in iter(lambda: file.read(1024 * 1024), b""):
            digest.update(data)
    return digest.hexdigest()


def fits_here(offer):
    """Whether an offered uv is built for this machine's platform."""
    mine = {
        "system": platform.system(),
        "processor": platform.machine(),
        "libc": platform.libc_ver()[0],
    }
    return all(offer[name] == value for name, value in mine.items())


def is_binary(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) in MAGIC_NUMBERS
    except OSError:
        return False


def version_of(path):
    """Return the version of a uv; None if it does not run."""
    if not os.path.isfile(path):
        return None
    try:
        done = run([path, "--version"], time.monotonic() + VERSION_TIMEOUT_S)
    except CannotDo:
        return None
    found = re.search(r"\buv (\d+(?:\.\d+)+)", done.out)
    return found.group(1) if found and done.status == 0 else None


def is_at_least(version, least):
    return [int(n) for n in version.split(".")] >= [int(n) for n in least.split(".")]
