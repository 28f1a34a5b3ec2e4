"""Files that evalroom writes, in folders where others may write too."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.desk.recorder import Recorder
from core.errors import StorageError
from storage.paths import private_file, refuse_unsafe_config
from tests.hostile.other_user import other_user
from tests.support.commands import Home
from tests.support.evals import short_folder


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder like /tmp: sticky, and open to every account."""
    with short_folder() as above:
        above.chmod(0o755)
        folder = above / "shared"
        folder.mkdir()
        folder.chmod(0o1777)
        yield folder


def test_a_recording_is_not_written_through_a_link_of_another_account(
    shared: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    other_user().does(
        "import os, sys; os.symlink(sys.argv[1], sys.argv[2])", victim, shared / "r.jsonl"
    )
    with pytest.raises(StorageError, match="it is a link that another account made"):
        Recorder(shared / "r.jsonl")
    assert victim.read_text() == "mine"


def test_a_recording_takes_the_place_of_a_file_and_never_writes_into_it(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "r.jsonl").hardlink_to(victim)
    Recorder(tmp_path / "r.jsonl").close()
    assert victim.read_text() == "mine"
    assert (tmp_path / "r.jsonl").read_text() == ""
    assert stat.S_IMODE((tmp_path / "r.jsonl").stat().st_mode) == 0o600
    (tmp_path / "own").symlink_to(tmp_path / "r.jsonl")
    Recorder(tmp_path / "own").close()
    assert (tmp_path / "own").is_symlink()


def test_ones_own_files_are_not_opened_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "history").symlink_to(victim)
    with pytest.raises(StorageError):
        private_file(tmp_path / "d" / "history")
    assert victim.read_text() == "mine"


def test_the_folder_of_a_config_is_judged_as_the_file_is(shared: Path) -> None:
    config = shared / "config.toml"
    config.write_text("")
    config.chmod(0o600)
    refuse_unsafe_config(config)  # sticky, and root's
    shared.chmod(0o777)
    with pytest.raises(StorageError, match="other users can write"):
        refuse_unsafe_config(config)
    shared.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(shared, other_user().uid, -1)
        with pytest.raises(StorageError, match="belongs to another user"):
            refuse_unsafe_config(config)


@pytest.mark.parametrize("words", [("config", "check"), ("config", "show"), ("status",)])
def test_every_command_judges_the_folder_of_its_config(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = Home(tmp_path)
    home.configure("")
    home.config.parent.chmod(0o777)
    ran = home.run(*words)
    assert (ran.status, "other users can write" in ran.err) == (1, True), ran
