"""Where evalroom keeps its files on this computer, and their permissions.

Folders are 0700 and files 0600. Files that other users can write are refused: a config names
programs to run, and a journal that others can change proves nothing.
"""

import errno
import grp
import os
import pwd
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from core.errors import StorageError
from core.text import shown

_APP = "evalroom"
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_OTHERS_WRITE = 0o022
_NEW_OR_OWN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The operator's files, by the XDG rules (on macOS: ~/Library). Creates nothing.

    Attributes:
        config_file: The config that is read without `--config`.
        data: The folder of data to keep: the history, known_hosts.
        state: The folder of data that may be lost: the last view, crash files.
    """

    config_file: Path
    data: Path
    state: Path

    @property
    def database(self) -> Path:
        """The history's database."""
        return self.data / "history.sqlite3"

    @property
    def known_hosts(self) -> Path:
        """The host keys that the operator accepted in evalroom."""
        return self.data / "known_hosts"

    @property
    def secrets(self) -> Path:
        """Names of all secrets, and the values that are not in a keyring."""
        return self.data / "secrets.json"

    @property
    def launch_drafts(self) -> Path:
        """Drafts of the launch form."""
        return self.state / "launches.json"

    @property
    def view_state(self) -> Path:
        """The last view of the room."""
        return self.state / "view.json"

    @property
    def last_look(self) -> Path:
        """What the operator saw last in a room."""
        return self.state / "look.json"

    @property
    def crashes(self) -> Path:
        """The folder of crash files."""
        return self.state / "crashes"


def paths() -> Paths:
    """Return the operator's files for the current environment variables."""
    dirs = platformdirs.PlatformDirs(_APP, appauthor=False)
    return Paths(
        config_file=dirs.user_config_path / "config.toml",
        data=dirs.user_data_path,
        state=dirs.user_state_path,
    )


def private_folder(path: Path) -> Path:
    """Create a folder if it is missing, set its mode to 0700, and return it.

    Raises:
        StorageError: It can't be created, or others can write it.
    """
    try:
        for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
            missing.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        found = path.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise StorageError(f"{shown(str(path))} is not a folder", "move it out of the way")
        refuse_if_others_write(path, found)
        if stat.S_IMODE(found.st_mode) != _PRIVATE_FOLDER:
            path.chmod(_PRIVATE_FOLDER)
    except OSError as error:
        raise _failed(path, error) from error
    return path


def private_file(path: Path) -> Path:
    """Create an empty file if it is missing, set its mode to 0600, and return its path.

    Raises:
        StorageError: It can't be created, or others can write it.
    """
    private_folder(path.parent)
    try:
        handle = os.open(path, _NEW_OR_OWN, _PRIVATE_FILE)
        try:
            found = os.fstat(handle)
            refuse_if_others_write(path, found)
            if stat.S_IMODE(found.st_mode) != _PRIVATE_FILE:
                os.fchmod(handle, _PRIVATE_FILE)
        finally:
            os.close(handle)
    except OSError as error:
        raise _failed(path, error) from error
    return path


def write_private(path: Path, content: bytes) -> None:
    """Replace a file's content atomically, with mode 0600.

    Raises:
        StorageError: It can't be written; the old file is unchanged.
    """
    private_folder(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _failed(path, error) from error


def refuse_if_others_write(
    path: Path, found: os.stat_result | None = None, *, by_sudo: bool = False
) -> None:
    """Raise for a file or folder that another user owns or can write.

    Group write is allowed if the group has no member but the operator (as with a umask of 002).

    Args:
        path: The file or folder.
        found: What `stat` said of it; None: it is asked here.
        by_sudo: Whether it may belong to the user who ran this program with sudo: for what is
            read and never written.

    Raises:
        StorageError: Another user can write it, or its permissions can't be read.
    """
    if found is None:
        try:
            found = path.stat()
        except OSError as error:
            raise _failed(path, error) from error
    operators = {os.geteuid(), *((_sudo_uid(),) if by_sudo else ())} - {None}
    if found.st_uid not in operators | {0}:
        raise StorageError(
            f"{shown(str(path))} belongs to another user", "use a file or folder of your own"
        )
    writers = found.st_mode & _OTHERS_WRITE
    is_own_group = any(_is_own_group(uid, found.st_gid) for uid in operators if uid is not None)
    if writers & stat.S_IWGRP and not writers & stat.S_IWOTH and is_own_group:
        return
    if writers:
        raise StorageError(
            f"other users can write {shown(str(path))}", f"run: chmod go-w {shown(str(path))}"
        )


def refuse_unsafe_config(path: Path) -> None:
    """Raise for a config that another user can write, or whose folder lets others replace it.

    A sticky folder of root, such as `/tmp`, lets nobody else replace the file.

    Raises:
        StorageError: Another user can change the config, or its permissions can't be read.
    """
    refuse_if_others_write(path, by_sudo=True)
    folder = path.resolve().parent
    try:
        found = folder.stat()
    except OSError as error:
        raise _failed(folder, error) from error
    if found.st_uid == 0 and found.st_mode & stat.S_ISVTX:
        return
    refuse_if_others_write(folder, found, by_sudo=True)


def _sudo_uid() -> int | None:
    """Return the user who became root with sudo; None: nobody did."""
    uid = os.environ.get("SUDO_UID", "")
    return int(uid) if os.geteuid() == 0 and uid.isdecimal() else None


def _is_own_group(uid: int, gid: int) -> bool:
    try:
        user = pwd.getpwuid(uid)
        group = grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and not group.gr_mem


def _failed(path: Path, error: OSError) -> StorageError:
    place = shown(str(path))
    advice = "free some disk space" if error.errno in _NO_ROOM else ""
    return StorageError(f"can't use {place}: {error.strerror or error}", advice)
