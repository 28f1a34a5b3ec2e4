"""What lies in the folder of runs is anybody's: the launcher reads it, and is held up by none."""

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from core.ctl.decode import parse_object
from tests.support.tree import ROOT

LAUNCHER = ROOT / "ssh" / "shipped" / "launcher.py"
GOOD = "20260101-000000-aaaaaaaa"
BAD = "20260102-000000-bbbbbbbb"
DEEP = "[" * 100_000


@pytest.fixture
def launcher() -> ModuleType:
    """The launcher's file as a module."""
    found = importlib.util.spec_from_file_location("shipped_launcher", LAUNCHER)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs with a good one in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".evalroom" / "runs"
    (folder / GOOD / "started").mkdir(parents=True)
    (folder / GOOD / "run.json").write_text(json.dumps({"run": GOOD, "task": "t"}))
    (folder / BAD / "started").mkdir(parents=True)
    return folder


def listed(launcher: ModuleType) -> dict[str, Any]:
    """The manifests that are told, by run; as the desk reads the answer."""
    answer = launcher.list_runs({"directory": "~/.evalroom/runs", "known": []})
    told: Any = parse_object(json.dumps(answer).encode())
    return {row["run"]: row["manifest"] for row in told["runs"]}


@pytest.mark.parametrize("file", ["run.json", "launch.json"])
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(DEEP, id="deep"),
        pytest.param(DEEP[:3_000], id="deep enough"),
        pytest.param('{"event": 1, "run": 2, "spec": %s}' % ("[" * 90 + "]" * 90), id="nested"),
        pytest.param('{"event": "launch", "pid": [[]]}', id="no pid"),
    ],
)
def test_no_file_of_one_run_hides_the_others(
    launcher: ModuleType, runs: Path, file: str, content: str
) -> None:
    (runs / BAD / file).write_text(content)
    assert listed(launcher)[GOOD] == {"run": GOOD, "task": "t"}


@pytest.mark.parametrize("file", ["run.json", "launch.json", "launch.err"])
def test_a_pipe_that_nobody_writes_to_holds_up_nothing(
    launcher: ModuleType, runs: Path, file: str
) -> None:
    os.mkfifo(runs / BAD / file)
    assert set(listed(launcher)) == {GOOD, BAD}
    with pytest.raises(launcher.CannotDo, match="it is no file"):
        launcher.read({"directory": str(runs / BAD), "file": file})


def test_many_large_manifests_are_told_within_what_an_answer_may_have(
    launcher: ModuleType, runs: Path
) -> None:
    large = {"command_line": "x" * 60_000, "spec": {"a": "y" * 60_000}, "more": "z" * 200_000}
    for number in range(120):
        name = f"20260103-000000-{number:08}"
        (runs / name).mkdir()
        (runs / name / "run.json").write_text(json.dumps({"run": name, **large}))
    told = listed(launcher)
    assert len(told) > 20
    assert "20260103-000000-00000119" in told
    assert len(json.dumps(told)) < 8 * 1024 * 1024


def test_what_is_no_run_takes_no_place_among_them(launcher: ModuleType, runs: Path) -> None:
    for number in range(launcher.RUNS_MOST):
        (runs / f"zz-{number}\x1b]52;").mkdir()
    assert set(listed(launcher)) == {GOOD, BAD}


def test_a_log_folder_that_is_a_whole_disk_is_not_walked_to_its_end(
    launcher: ModuleType, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr(launcher.time, "monotonic", lambda: next(clock))
    asked = {"run": GOOD, "directory": str(runs / GOOD), "log_dir": "/"}
    told = launcher.look({"runs": [asked] * 50})  # all of them share the time
    assert [row["there"] for row in told["runs"]] == [True] * 50
    assert next(clock) < 50 + launcher.WALK_SECONDS + 5


def test_a_log_folder_that_no_path_can_be_holds_up_nothing(
    launcher: ModuleType, runs: Path
) -> None:
    asked = [
        {"run": GOOD, "directory": str(runs / GOOD), "log_dir": log_dir}
        for log_dir in ("\0", "x" * 5_000, "\ud800", "run.json")
    ]
    told = launcher.look({"runs": asked})
    assert [row["logs"] for row in told["runs"]] == [[]] * 4


@pytest.mark.parametrize(
    "manifest", [{}, {"inspect": 7}, {"inspect": [7]}, {"inspect": {"a": 1}}, {"inspect": []}]
)
def test_a_manifest_without_words_of_inspect_is_a_sentence(
    launcher: ModuleType, runs: Path, manifest: Any
) -> None:
    (runs / BAD / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(launcher.CannotDo, match="does not say how its Inspect is run"):
        launcher.logs({"directory": str(runs / BAD), "log_dir": "logs"})


@pytest.mark.parametrize("more", [{"spec": [1]}, {"spec": {"env": {"A": 1}}}, {"data_dir": 3}])
def test_a_log_that_cannot_be_read_says_why_whatever_the_manifest_is(
    launcher: ModuleType, runs: Path, more: Any
) -> None:
    (runs / BAD / "run.json").write_text(json.dumps({"inspect": ["/nowhere/inspect"], **more}))
    (runs / BAD / "a.eval").write_bytes(b"x")
    for where in (".", "s3://nowhere/logs"):
        [row] = launcher.logs({"directory": str(runs / BAD), "log_dir": where})["logs"]
        assert row["header"] is None
        assert "/nowhere/inspect" in row["error"]
