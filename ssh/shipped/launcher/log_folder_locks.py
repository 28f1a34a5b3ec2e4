"""Takes a log folder for one run: two evals in one folder would claim each other's logs.

The file LOCK_FILE in the folder names the run that has it. It is read and written under a lock of
the file system, so that of two launches at the same instant one is refused. A run that has ended
no longer holds its folder, whether the file is still there or not.
"""

import errno
import fcntl
import json
import os
import time

from ssh.shipped.common.cannot_do import CannotDo, not_written
from ssh.shipped.common.namespaces import pid_namespace
from ssh.shipped.common.paths import at_home
from ssh.shipped.common.proc import BOOT_ID, start_mark
from ssh.shipped.common.umask import LOGIN_UMASK
from ssh.shipped.launcher.files import head_of, json_of
from ssh.shipped.launcher.log_files import is_inside
from ssh.shipped.launcher.run_processes import living_processes, recorded_process
from ssh.shipped.launcher.run_rows import run_row

LOCK_FILE = ".evalroom-run"
MAX_LOCK_BYTES = 4096
LOCK_TIMEOUT_S = 5.0
NOT_SUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF)
FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_REOPENED = 20


def take_log_folder(folder, log_dir):
    """Take a run's log folder, and create it; raises CannotDo if another run has it.

    Args:
        folder: The run's own folder.
        log_dir: The log folder: absolute, from `~/`, or from the run's folder. A folder inside
            the run's own, and a URL, are not taken.
    """
    place = lock_place(folder, log_dir)
    if place is None:
        return
    make_for_others(place)
    with LockFile(os.path.join(place, LOCK_FILE)) as lock:
        holder = lock.read()
        why = None if holder.get("run") == os.path.basename(folder) else why_held(holder)
        if why is not None:
            advice = "wait until it ends, or choose another log_dir"
            if not can_see(holder):
                advice += "; if it has ended, remove the file %s" % lock.path
            raise CannotDo("%s logs into %s" % (why, place), advice)
        lock.write(folder, os.getpid(), start_mark(os.getpid()))


def note_eval(folder, log_dir):
    """Write the process of the run's eval into the lock, for accounts that can't read more."""
    place = lock_place(folder, log_dir)
    pid, mark = recorded_process(folder)
    if place is None or pid is None:
        return
    with LockFile(os.path.join(place, LOCK_FILE)) as lock:
        if lock.read().get("run") == os.path.basename(folder):
            lock.write(folder, pid, mark)


def lock_place(folder, log_dir):
    """Return the folder that a run takes; None: it takes none."""
    if not log_dir or "://" in log_dir:
        return None
    place = os.path.join(folder, at_home(log_dir))
    return None if is_inside(place, folder) else place


def why_held(holder):
    """Return which run still has a folder, by the record in its lock; None: no run."""
    run = holder.get("run")
    if not isinstance(run, str):
        return None
    if not can_see(holder):
        return "the run %s on %s" % (run, holder.get("host"))
    if holder.get("boot") != BOOT_ID:  # this machine was restarted since
        return None
    pid, folder = holder.get("pid"), holder.get("folder")
    lives = isinstance(pid, int) and start_mark(pid) == holder.get("start") is not None
    if not lives and isinstance(folder, str):
        asked = {"run": run, "directory": folder}
        lives = run_row(asked, living_processes())["alive"]
    return "the run %s" % run if lives else None


def can_see(holder):
    """Whether a record's processes run on this machine, and not in a container."""
    if holder.get("boot") == BOOT_ID:  # whatever the machine is called now
        return holder.get("space") == pid_namespace("self")
    return holder.get("host") == os.uname().nodename


def make_for_others(place):
    """Create a log folder with the login's umask, as Inspect would."""
    private = os.umask(LOGIN_UMASK)
    try:
        os.makedirs(place, exist_ok=True)
    except OSError as error:
        raise not_written(place, error) from error
    finally:
        os.umask(private)


class LockFile:
    """The file that names the run that has a log folder, locked while it is open."""

    def __init__(self, path):
        self.path = path
        self.fd = None
        self.is_foreign = False

    def __enter__(self):
        for _ in range(MAX_REOPENED):
            self.open()
            if self.fd is None:
                break
            self.lock()
            if self.is_there():
                break
            os.close(self.fd)  # another account put its own file in the place of this one
        return self

    def open(self):
        private = os.umask(LOGIN_UMASK)
        try:
            self.is_foreign = False
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | FLAGS, 0o666)
        except PermissionError:  # another account's
            self.is_foreign = True
            self.fd = self.open_to_read()
        except OSError as error:
            raise not_written(self.path, error) from error
        finally:
            os.umask(private)

    def open_to_read(self):
        try:
            return os.open(self.path, os.O_RDONLY | FLAGS)
        except OSError:
            return None

    def is_there(self):
        """Whether the open file still has the path."""
        try:
            return os.path.samestat(os.fstat(self.fd), os.lstat(self.path))
        except OSError:
            return False

    def lock(self):
        end = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno in NOT_SUPPORTED:
                    return
                if time.monotonic() > end:
                    os.close(self.fd)
                    raise CannotDo("another launch is taking %s" % self.path) from error
            time.sleep(0.05)

    def __exit__(self, *_):
        if self.fd is not None:
            os.close(self.fd)

    def read(self):
        found = json_of(head_of(self.path, MAX_LOCK_BYTES).decode("utf-8", "replace"))
        return found if isinstance(found, dict) else {}

    def write(self, folder, pid, mark):
        """Write that a run has the folder.

        Another account's file is replaced; it stays as it is where that is not allowed.
        """
        if self.fd is None:
            return
        run = os.path.basename(folder)
        record = {"run": run, "folder": os.path.abspath(folder), "pid": pid, "start": mark}
        record.update(host=os.uname().nodename, boot=BOOT_ID, space=pid_namespace("self"))
        data = json.dumps(record).encode("ascii") + b"\n"
        if self.is_foreign:
            self.replace(data)
            return
        try:
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, data, 0)
            os.fsync(self.fd)
        except OSError as error:
            raise not_written(self.path, error) from error

    def replace(self, data):
        part = "%s.%d" % (self.path, os.getpid())
        private = os.umask(LOGIN_UMASK)
        try:
            fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | FLAGS, 0o666)
        except OSError:
            return
        finally:
            os.umask(private)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(fd, data)
            os.rename(part, self.path)
        except OSError:
            os.close(fd)
            os.unlink(part)
            return
        os.close(self.fd)
        self.fd, self.is_foreign = fd, False
