import os
from pathlib import Path

import pytest

from storage.view_state import ViewState


def test_a_saved_view_is_loaded_by_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "state" / "view.json"
    assert ViewState(path).load() == {}
    assert ViewState(path).save({"pane": "tasks", "sort": ["errors", True]})
    assert ViewState(path).load() == {"pane": "tasks", "sort": ["errors", True]}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\xff\x00", b"[1, 2]", b'{"a": ', b"[" * 100_000, b'"' + b"x" * 300_000 + b'"'],
    ids=["nothing", "bytes", "a list", "cut", "nested", "large"],
)
def test_garbage_is_an_empty_view(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "view.json"
    path.write_bytes(garbage)
    view = ViewState(path)
    assert view.load() == {}
    assert view.save({"pane": "machines"})
    assert view.load() == {"pane": "machines"}


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "view.json")
    view = ViewState(tmp_path / "view.json")
    assert view.load() == {}
    assert view.save({"pane": "tasks"})
    assert view.load() == {"pane": "tasks"}


def test_the_same_view_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "view.json"
    view = ViewState(path)
    view.save({"pane": "tasks"})
    written = path.stat().st_ino
    view.save({"pane": "tasks"})
    assert path.stat().st_ino == written


def test_a_view_that_is_not_json_or_has_no_place_is_not_an_error(tmp_path: Path) -> None:
    assert not ViewState(tmp_path / "view.json").save({"a": object()})
    (tmp_path / "file").touch()
    assert not ViewState(tmp_path / "file" / "view.json").save({"a": 1})
