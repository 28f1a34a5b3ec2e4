import os
from collections.abc import Generator
from contextlib import nullcontext as does_not_raise
from pathlib import Path

import pytest

from core.errors import StorageError
from storage.paths import paths, private_file, private_folder, refuse_if_others_write, write_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture(autouse=True)
def _open_umask() -> Generator[None, None, None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_places_follow_the_xdg_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    found = paths()
    assert found.config_file == tmp_path / "CONFIG" / "evalroom" / "config.toml"
    assert found.database.parent == found.known_hosts.parent == tmp_path / "DATA" / "evalroom"
    assert found.view_state.is_relative_to(tmp_path / "STATE" / "evalroom")
    assert not list(tmp_path.iterdir())


def test_folders_and_files_are_the_operators_alone(tmp_path: Path) -> None:
    file = private_file(tmp_path / "a" / "b" / "file")
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    write_private(tmp_path / "a" / "view.json", b"{}")
    assert mode(tmp_path / "a" / "view.json") == 0o600


def test_a_file_that_others_may_read_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir(mode=0o755)
    (folder / "f").touch(mode=0o644)
    private_file(folder / "f")
    assert (mode(folder), mode(folder / "f")) == (0o700, 0o600)


@pytest.mark.parametrize("bits", [0o777, 0o702, 0o1777])
def test_a_folder_that_others_write_is_refused(tmp_path: Path, bits: int) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(bits)
    with pytest.raises(StorageError) as caught:
        private_folder(folder)
    assert caught.value.advice == f"run: chmod go-w {folder}"
    assert mode(folder) == bits


def test_a_file_that_others_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.touch()
    file.chmod(0o666)
    with pytest.raises(StorageError, match="other users can write"):
        refuse_if_others_write(file)


def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.touch(mode=0o600)
    os.chown(file, 65_534, 65_534)
    with pytest.raises(StorageError, match="belongs to another user"):
        refuse_if_others_write(file)


def test_a_file_of_the_user_behind_sudo_may_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where it is read alone, and only by root: SUDO_UID is a word that anybody can set."""
    file = tmp_path / "config.toml"
    file.touch(mode=0o600)
    os.chown(file, 65_534, 65_534)
    monkeypatch.setenv("SUDO_UID", "65534")
    with does_not_raise():
        refuse_if_others_write(file, by_sudo=True)
    with pytest.raises(StorageError, match="belongs to another user"):
        refuse_if_others_write(file)
    file.chmod(0o606)
    with pytest.raises(StorageError, match="other users can write"):
        refuse_if_others_write(file, by_sudo=True)
    file.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(StorageError, match="belongs to another user"):
        refuse_if_others_write(file, by_sudo=True)


def test_a_group_of_the_operator_alone_may_write(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.touch()
    file.chmod(0o664)
    with does_not_raise():
        refuse_if_others_write(file)


def test_a_file_in_the_way_of_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(StorageError):
        private_folder(tmp_path / "a")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "view.json"
    target.mkdir()
    (target / "x").touch()
    with pytest.raises(StorageError):
        write_private(target, b"{}")
    assert [each.name for each in tmp_path.iterdir()] == ["view.json"]
