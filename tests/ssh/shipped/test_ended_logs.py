"""The logs of evals that ended before anyone had listed their tasks."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import zipfile
from pathlib import Path

import pytest

from ssh.shipped.probe.ended_logs import logs_left, logs_of_run
from tests.support.direct_probe import direct_probe
from tests.support.evals import Evals

STARTED = 1_767_225_600.0


def test_an_eval_that_ends_unasked_names_its_own_log_alone(evals: Evals) -> None:
    shared, data_dir = evals.folder / "shared", evals.folder / "d"
    how = {"log_dir": shared, "data_dir": data_dir}
    ends = evals.start("turns", args={"samples": 1, "turns": 1, "sleep": 0}, keep=True, **how)
    dies = evals.start("turns", args={"samples": 1, "turns": 1, "sleep": 300}, **how)
    for one in (ends, dies):
        one.wait_ready()
    ends.wait_finished()
    dies.wait_rows(lambda rows: bool(rows[0]["log_location"]))
    with direct_probe(data_dir) as probe:
        for one in (ends, dies):
            assert probe.process(one.pid)["logs"] == []
        own = {one.pid: one.task()["log_location"].removeprefix("file://") for one in (ends, dies)}
        (data_dir / "inspect_ai" / "traces" / f"trace-{dies.pid}.log").unlink()
        ends.release()
        dies.kill()
        for one in (ends, dies):
            assert probe.process(one.pid, alive=False)["logs"] == [own[one.pid]]


def put(path: Path, start: object) -> str:
    """Write a log with this start; return its path."""
    with zipfile.ZipFile(path, "w") as log:
        log.writestr("_journal/start.json", json.dumps(start))
    os.utime(path, (STARTED + 5, STARTED + 5))
    return str(path)


def test_a_log_in_a_shared_folder_is_an_evals_own_by_the_id_of_its_run(tmp_path: Path) -> None:
    own = put(tmp_path / "a.eval", {"eval": {"run_id": "r1"}})
    put(tmp_path / "other.eval", {"eval": {"run_id": "r2"}})
    for number, start in enumerate(({}, {"eval": []}, [], None, "r1", {"eval": {}})):
        put(tmp_path / f"{number}.eval", start)
    (tmp_path / "junk.eval").write_bytes(b"PK")
    (tmp_path / "link.eval").symlink_to(own)
    (tmp_path / "a.json").write_text('{"eval": {"run_id": "r1"}}')
    with zipfile.ZipFile(tmp_path / "empty.eval", "w"):
        pass
    older = put(tmp_path / "older.eval", {"eval": {"run_id": "r1"}})
    os.utime(older, (STARTED - 100, STARTED - 100))
    assert logs_of_run(str(tmp_path), "r1", STARTED) == [own]
    assert logs_of_run(str(tmp_path), "r3", STARTED) == []
    assert logs_of_run(str(tmp_path / "none"), "r1", STARTED) == []


@pytest.mark.parametrize(("began", "is_own"), [(STARTED + 3, True), (STARTED - 60, False)])
def test_a_trace_file_of_an_earlier_process_of_this_pid_names_nothing(
    tmp_path: Path, began: float, is_own: bool
) -> None:
    log = put(tmp_path / "a.eval", {})
    entries = [
        {"action": "Run Task", "detail": "t", "start_time": began},
        {"action": "Log Write", "detail": log, "start_time": began},
    ]
    (tmp_path / "trace-7.log").write_text("".join(json.dumps(each) + "\n" for each in entries))
    assert logs_left(str(tmp_path), 7, STARTED) == ([log] if is_own else [])
