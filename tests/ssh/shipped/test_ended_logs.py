"""The logs of evals that ended before anyone had listed their tasks."""
# pyright: standard
# The shipped programs have no types.

import json
from pathlib import Path

import pytest

from ssh.shipped.probe.dead_evals import logs_left
from tests.support.direct_probe import direct_probe
from tests.support.evals import Evals

STARTED = 1_767_225_600.0


def test_an_eval_that_ends_unasked_names_its_own_log_alone(evals: Evals) -> None:
    how = {"log_dir": evals.folder / "shared", "data_dir": evals.folder / "d"}
    ends = evals.start("turns", args={"samples": 1, "turns": 1, "sleep": 0}, keep=True, **how)
    dies = evals.start("turns", args={"samples": 1, "turns": 1, "sleep": 300}, **how)
    for one in (ends, dies):
        one.wait_ready()
    ends.wait_finished()
    dies.wait_rows(lambda rows: bool(rows[0]["log_location"]))
    with direct_probe(evals.folder / "d") as probe:
        for one in (ends, dies):
            assert probe.process(one.pid)["logs"] == []
        own = {one.pid: one.task()["log_location"].removeprefix("file://") for one in (ends, dies)}
        ends.release()
        dies.kill()
        for one in (ends, dies):
            assert probe.process(one.pid, alive=False)["logs"] == [own[one.pid]]


@pytest.mark.parametrize(("began", "is_own"), [(STARTED + 3, True), (STARTED - 60, False)])
def test_a_trace_file_of_an_earlier_process_of_this_pid_names_nothing(
    tmp_path: Path, began: float, is_own: bool
) -> None:
    log = tmp_path / "a.eval"
    log.write_bytes(b"")
    entries = [
        {"action": "Run Task", "detail": "t", "start_time": began},
        {"action": "Log Write", "detail": str(log), "start_time": began},
    ]
    (tmp_path / "trace-7.log").write_text("".join(json.dumps(each) + "\n" for each in entries))
    assert logs_left(str(tmp_path), 7, STARTED) == ([str(log)] if is_own else [])
