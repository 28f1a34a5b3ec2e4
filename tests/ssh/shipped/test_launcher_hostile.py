"""What lies in the folder of runs is anybody's: the launcher reads it, and is held up by none."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core.ctl.decode import parse_object
from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.launcher.log_files import SEARCH_TIMEOUT_S
from ssh.shipped.launcher.output import read_piece
from ssh.shipped.launcher.run_logs import read_logs
from ssh.shipped.launcher.run_rows import MAX_RUNS, list_runs, poll_runs

GOOD = "20260101-000000-aaaaaaaa"
BAD = "20260102-000000-bbbbbbbb"
DEEP = "[" * 100_000


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runs with a good one in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".evalroom" / "runs"
    (folder / GOOD / "started").mkdir(parents=True)
    (folder / GOOD / "run.json").write_text(json.dumps({"run": GOOD, "task": "t"}))
    (folder / BAD / "started").mkdir(parents=True)
    return folder


def rows(answer: Any, name: str) -> list[dict[str, Any]]:
    """The rows of an answer."""
    found: list[dict[str, Any]] = answer[name]
    return found


def listed() -> dict[str, Any]:
    """The listed manifests by run, as the desk reads the answer."""
    answer = list_runs({"directory": "~/.evalroom/runs", "known": []})
    found: Any = parse_object(json.dumps(answer).encode())
    return {row["run"]: row["manifest"] for row in found["runs"]}


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
def test_no_file_of_one_run_hides_the_others(runs: Path, file: str, content: str) -> None:
    (runs / BAD / file).write_text(content)
    assert listed()[GOOD] == {"run": GOOD, "task": "t"}


@pytest.mark.parametrize("file", ["run.json", "launch.json", "launch.err"])
def test_a_pipe_that_nobody_writes_to_holds_up_nothing(runs: Path, file: str) -> None:
    os.mkfifo(runs / BAD / file)
    assert set(listed()) == {GOOD, BAD}
    with pytest.raises(CannotDo, match="not a regular file"):
        read_piece({"directory": str(runs / BAD), "file": file})


def test_many_large_manifests_are_reported_within_what_an_answer_may_have(runs: Path) -> None:
    large = {"command_line": "x" * 60_000, "spec": {"a": "y" * 60_000}, "more": "z" * 200_000}
    for number in range(120):
        name = f"20260103-000000-{number:08}"
        (runs / name).mkdir()
        (runs / name / "run.json").write_text(json.dumps({"run": name, **large}))
    answer = listed()
    assert len(answer) > 20
    assert "20260103-000000-00000119" in answer
    assert len(json.dumps(answer)) < 8 * 1024 * 1024


def test_a_folder_that_is_not_a_run_takes_no_place_among_them(runs: Path) -> None:
    for number in range(MAX_RUNS):
        (runs / f"zz-{number}\x1b]52;").mkdir()
    assert set(listed()) == {GOOD, BAD}


def test_a_log_folder_that_is_a_whole_disk_is_not_walked_to_its_end(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    asked = {"run": GOOD, "directory": str(runs / GOOD), "log_dir": "/"}
    answer = rows(poll_runs({"runs": [asked] * 50}), "runs")  # all of them share the time
    assert [row["there"] for row in answer] == [True] * 50
    assert next(clock) < 50 + SEARCH_TIMEOUT_S + 5


def test_a_log_folder_that_no_path_can_be_holds_up_nothing(runs: Path) -> None:
    asked = [
        {"run": GOOD, "directory": str(runs / GOOD), "log_dir": log_dir}
        for log_dir in ("\0", "x" * 5_000, "\ud800", "run.json")
    ]
    answer = rows(poll_runs({"runs": asked}), "runs")
    assert [row["logs"] for row in answer] == [[]] * 4


def report_of(directory: Path, log_dir: str) -> dict[str, Any]:
    """The report of the logs of one run."""
    asked = {"run": BAD, "directory": str(directory), "log_dir": log_dir}
    [report] = rows(read_logs({"runs": [asked], "secrets": {}}), "reports")
    return report


@pytest.mark.parametrize(
    "manifest", [{}, {"inspect": 7}, {"inspect": [7]}, {"inspect": {"a": 1}}, {"inspect": []}]
)
def test_a_manifest_without_words_of_inspect_is_read_with_another_inspect(
    runs: Path, manifest: Any
) -> None:
    (runs / BAD / "run.json").write_text(json.dumps(manifest))
    found = report_of(runs / BAD, "logs")
    assert (found["logs"], found["others"], found["output"]) == ([], 0, "")
    assert "error" not in found


@pytest.mark.parametrize("more", [{"spec": [1]}, {"spec": {"env": {"A": 1}}}, {"data_dir": 3}])
def test_a_log_that_cannot_be_read_says_why_whatever_the_manifest_is(
    runs: Path, more: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"inspect": ["/nowhere/inspect"], **more}
    (runs / BAD / "run.json").write_text(json.dumps(own))
    (runs / BAD / "logs").mkdir()
    (runs / BAD / "logs" / "a.eval").write_bytes(b"x")
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    for where in ("logs", "s3://nowhere/logs"):
        assert report_of(runs / BAD, where)["error"] == "python was not found"


def test_a_run_without_a_folder_says_so(runs: Path) -> None:
    assert "is gone" in report_of(runs / "nowhere", "logs")["error"]


def test_a_log_folder_that_is_gone_or_closed_is_not_an_empty_one(runs: Path) -> None:
    error = report_of(runs / BAD, "/nowhere/logs")["error"]
    assert error == "the log folder /nowhere/logs: No such file or directory"
    assert "Not a directory" in report_of(runs / BAD, str(runs / GOOD / "run.json"))["error"]
