"""Where a run stands, from what was seen of it."""

from dataclasses import replace
from typing import Any

import pytest

from core.ids import MachineName
from core.launch.run.run_record import run_from_manifest
from core.launch.run.run_state import after_fleet, after_logs, after_poll
from core.model.process import ProcessState
from core.model.run import Run, RunState
from tests.support.fleets import H1, fleet_after, process_seen

NOW = 1_000.0
RUN = Run(
    id="20260101-000000-aaaaaaaa", machine=H1, at=900.0, operator="Ada",
    state=RunState.STARTING, task="t", model="m/x", directory="~/r", log_dir="logs",
)  # fmt: skip
RECORD = '{"event": "launch", "pid": 7, "log_dir": "/r/logs", "output_file": "/o"}'


def look(**row: Any) -> Run:
    return after_poll(RUN, {"run": RUN.id, **row}, NOW, is_abandoned=True)


def log(status: str, task_id: str = "a", task: str = "t", **more: Any) -> dict[str, Any]:
    header = {"status": status, "eval": {"task": task, "model": "m/x", "task_id": task_id}}
    return {"path": f"/r/{task_id}-{status}.eval", "header": header, "error": None, **more}


def test_what_lives_runs_and_its_record_says_where_its_logs_are() -> None:
    found = look(there=True, started=True, alive=True, pid=7, start="b-1", out=RECORD)
    assert (found.state, found.pid, found.start) == (RunState.RUNNING, 7, "b-1")
    assert (found.log_dir, found.output_file) == ("/r/logs", "/o")


def test_a_start_that_goes_on_is_starting() -> None:
    assert look(there=True, started=True, alive=True).state is RunState.STARTING


def test_what_no_longer_lives_is_finishing_until_its_logs_are_read() -> None:
    assert look(there=True, started=True, alive=False, out=RECORD).state is RunState.FINISHING


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"there": False}, "nothing was sent"),
        ({"there": True, "started": False}, "only its folder was created"),
        (
            {"there": True, "started": True, "alive": False, "err": "Task named 'x' not found."},
            "no task x",
        ),
        ({"there": True, "started": True, "alive": False}, "does not say why"),
    ],
)
def test_what_never_ran_failed_and_says_how_far_it_came(row: dict[str, Any], says: str) -> None:
    found = look(**row)
    assert found.state is RunState.ERROR
    assert says in found.message


def test_what_another_evalroom_is_about_to_start_is_left_to_it() -> None:
    queued = replace(RUN, state=RunState.QUEUED)
    assert after_poll(queued, {"there": False}, NOW, is_abandoned=False) == queued


def test_a_run_of_an_engine_that_is_not_known_here_says_so() -> None:
    other = replace(RUN, engine="other\x1b[2J")
    row = {"there": True, "started": True, "alive": False}
    found = after_poll(other, row, NOW, is_abandoned=True)
    assert (
        found.message
        == "no eval appeared for this run, and this version of evalroom does not know its engine"
    )


def test_a_run_whose_folder_is_gone_ran_all_the_same() -> None:
    gone = {"there": False, "started": False, "alive": False}
    for state in (RunState.RUNNING, RunState.FINISHING):
        ran = replace(RUN, state=state)
        assert after_poll(ran, gone, NOW, is_abandoned=True).state is RunState.FINISHING
    alive = look(**gone | {"alive": True, "pid": 7, "start": "b-1"})
    assert (alive.state, alive.pid) == (RunState.RUNNING, 7)


def test_a_run_of_others_that_is_still_prepared_is_not_failed() -> None:
    theirs = replace(RUN, is_ours=False, state=RunState.PREPARING)
    row = {"there": True, "started": False}
    assert after_poll(theirs, row, NOW, is_abandoned=False) == theirs
    old = after_poll(theirs, row, RUN.at + 90_000, is_abandoned=False)
    assert (old.state, old.message) == (
        RunState.ERROR, "evalroom has not started this run within a day",
    )  # fmt: skip


def test_a_process_of_the_fleet_is_the_run() -> None:
    fleet = fleet_after(process_seen(H1, 7, run=RUN.id))
    [process] = fleet.processes.values()
    found = after_fleet(RUN, process, NOW)
    assert (found.state, found.pid) == (RunState.RUNNING, 7)
    for state in (ProcessState.PARKED, ProcessState.GONE):
        resting = replace(process, state=state)
        assert after_fleet(found, resting, NOW).state is RunState.FINISHING


@pytest.mark.parametrize(
    ("rows", "is_alive", "state", "status"),
    [
        ([log("success")], False, RunState.SUCCESS, "success"),
        ([log("success"), log("error", "b")], False, RunState.ERROR, "error"),
        ([log("error")], True, RunState.FINISHING, "error"),
        ([log("cancelled")], False, RunState.ERROR, "cancelled"),
        ([log("started")], False, RunState.LOST, "started"),
        ([log("started")], True, RunState.FINISHING, "started"),
        # The newest log of a task that was tried again counts.
        ([log("success"), log("error")], False, RunState.SUCCESS, "success"),
        ([], False, RunState.LOST, "lost"),
        ([{"path": "/x", "header": None, "error": "bad\x1b[2J"}], False, RunState.FINISHING,
         "finishing"),
        ([{"path": "/x", "header": "junk", "error": None}], False, RunState.LOST, "lost"),
        # What can't be read may say anything.
        ([{"path": "/x", "header": None, "error": "bad"}, log("success")], False,
         RunState.FINISHING, "success"),
        # What lay there before is another's, unless it is of the same task and model.
        ([log("success", is_old=True)], False, RunState.SUCCESS, "success"),
        ([log("success", "b", task="other", is_old=True)], False, RunState.LOST, "lost"),
        ([log("success"), log("error", "b", task="other", is_old=True)], False,
         RunState.SUCCESS, "success"),
        ([{"path": "/x", "header": None, "error": "bad", "is_old": True}, log("success")], False,
         RunState.SUCCESS, "success"),
    ],
)  # fmt: skip
def test_only_logs_prove_how_a_run_ended(
    rows: list[dict[str, Any]], is_alive: bool, state: RunState, status: str
) -> None:
    run = replace(RUN, state=RunState.FINISHING)
    found = after_logs(run, rows, NOW, is_alive=is_alive)
    assert (found.state, found.status) == (state, status)
    assert "\x1b" not in found.message


def test_a_log_that_can_never_be_read_is_not_waited_for_for_ever() -> None:
    rows = [{"path": "/x", "header": None, "error": "bad"}, log("success")]
    found = after_logs(RUN, rows, NOW, is_alive=False, is_last=True)
    assert (found.state, found.message) == (RunState.LOST, "can't read one of its logs: bad")
    assert after_logs(RUN, rows, NOW, is_alive=True, is_last=True).state is RUN.state


def test_a_run_of_another_operator_is_told_by_its_manifest() -> None:
    told = {"run": RUN.id, "at": 5, "operator": "Bob", "task": "t", "spec": {"task": "t"}}
    seen = run_from_manifest(H1, {"run": RUN.id, "manifest": told}, NOW)
    assert seen is not None
    assert (seen.operator, seen.is_ours, seen.at) == ("Bob", False, 5.0)


@pytest.mark.parametrize(
    "manifest",
    [
        None, "x", {}, {"run": "other"}, {"run": 7}, {"run": RUN.id, "at": "x"},
        {"run": RUN.id, "at": 10**400}, {"run": RUN.id, "at": float("inf")},
        {"run": RUN.id, "at": True}, {"run": RUN.id, "at": 1e300},
        {"run": RUN.id, "directory": "/elsewhere", "attach": ["rm", "-rf", "."]},
    ],
)  # fmt: skip
def test_no_manifest_breaks_the_room_or_says_where_to_look_and_what_to_do(manifest: Any) -> None:
    seen = run_from_manifest(MachineName("h"), {"run": RUN.id, "manifest": manifest}, NOW)
    if seen is not None:
        assert (seen.at, seen.attach) == (NOW, ())
        assert seen.directory == f"~/.evalroom/runs/{RUN.id}"


@pytest.mark.parametrize("name", ["../../etc", "a\x1b]52;c;aGk=\x07", "x\ny", "-rf", "20260101"])
def test_what_is_named_like_no_run_is_none(name: str) -> None:
    assert run_from_manifest(H1, {"run": name, "manifest": {"run": name}}, NOW) is None
