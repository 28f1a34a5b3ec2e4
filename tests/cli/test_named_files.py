"""Files that a person names: a pipe that nobody writes to, a folder that is a file."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.support.commands import EVALROOM, Home, machine
from tests.support.waiting import WAIT_S


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.configure(machine("local", tmp_path / "d"))
    return home


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--config pipe status", "no program wrote to it"),
        ("--config pipe config check", "no program wrote to it"),
        ("launch pipe --dry-run", "no program wrote to it"),
        ("machines check local pipe", "no program wrote to it"),
        ("machines prepare local pipe", "no program wrote to it"),
        ("--record pipe status", "that no program reads"),
    ],
)
def test_a_pipe_without_another_end_is_a_sentence(home: Home, words: str, says: str) -> None:
    os.mkfifo(home.folder / "pipe")
    ran = home.run(*words.split())
    assert ran.status in {1, 2}
    assert says in ran.err + ran.out


def test_a_spec_may_come_through_a_pipe(home: Home) -> None:
    pipe = home.folder / "pipe"
    os.mkfifo(pipe)
    writes = threading.Thread(target=lambda: pipe.write_text("nonsense = 1\n"), daemon=True)
    writes.start()
    ran = home.run("launch", "pipe", "--dry-run")
    assert "nonsense" in ran.err
    writes.join(WAIT_S)


def test_a_template_that_is_a_pipe_holds_up_nothing(home: Home) -> None:
    folder = home.config.parent / "templates"
    folder.mkdir()
    os.mkfifo(folder / "mine.toml")
    listed = home.run("templates")
    assert listed.status == 0
    assert "mine.toml is not a file" in listed.out


def test_a_recording_that_is_a_pipe_is_a_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read = (
        "from pathlib import Path\nfrom core.desk.replay import read_recording\n"
        "list(read_recording(Path('pipe')))"
    )
    home = Home(tmp_path)
    ran = subprocess.run(
        [EVALROOM[0], "-c", read], env=home.env, cwd=tmp_path, capture_output=True, text=True,
        check=False, timeout=WAIT_S,
    )  # fmt: skip
    assert "can't read the recording pipe" in ran.stderr
    assert "no program wrote to it" in ran.stderr


@pytest.mark.parametrize("words", ["journal", "journal --json", "findings", "guide list"])
def test_a_data_folder_that_is_a_file_is_not_an_empty_history(home: Home, words: str) -> None:
    (home.folder / "file").touch()
    ran = home.run(*words.split(), env={"XDG_DATA_HOME": str(home.folder / "file")})
    assert ran.status == 1
    assert "Not a directory" in ran.err + ran.out


@pytest.mark.parametrize("words", ["config show", "config path", "status", "config check"])
def test_a_config_folder_that_is_a_file_is_not_a_missing_config(home: Home, words: str) -> None:
    (home.folder / "file").touch()
    ran = home.run(*words.split(), env={"XDG_CONFIG_HOME": str(home.folder / "file")})
    assert ran.status == 1
    assert "Not a directory" in ran.err
