"""The state of a run, from its folder, its processes and its logs."""

from dataclasses import replace
from typing import Any

import pytest

from core.ids import MachineName
from core.launch.run.run_logs import after_logs
from core.launch.run.run_record import run_from_manifest
from core.launch.run.run_state import after_fleet, after_poll
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


def log(status: str, task_id: str = "a") -> dict[str, Any]:
    header = {"status": status, "eval": {"task": "t", "model": "m/x", "task_id": task_id}}
    return {"log": f"/r/{task_id}-{status}.eval", "header": header}


def report(*rows: dict[str, Any]) -> dict[str, Any]:
    """The launcher's report of a run's own logs."""
    return {"run": RUN.id, "logs": list(rows), "others": 0, "output": ""}


def test_a_run_with_a_living_process_runs_and_its_record_says_where_its_logs_are() -> None:
    found = look(there=True, started=True, alive=True, pid=7, start="b-1", out=RECORD)
    assert (found.state, found.pid, found.start) == (RunState.RUNNING, 7, "b-1")
    assert (found.log_dir, found.output_file) == ("/r/logs", "/o")


def test_a_start_that_goes_on_is_starting() -> None:
    assert look(there=True, started=True, alive=True).state is RunState.STARTING


def test_a_run_without_its_process_is_finishing_until_its_logs_are_read() -> None:
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
def test_a_run_that_never_ran_failed_and_says_how_far_it_came(
    row: dict[str, Any], says: str
) -> None:
    found = look(**row)
    assert found.state is RunState.ERROR
    assert says in found.message


def test_a_run_that_another_evalroom_is_starting_is_left_to_it() -> None:
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
        ended = replace(process, state=state)
        assert after_fleet(found, ended, NOW).state is RunState.FINISHING


def test_a_run_that_is_found_late_has_the_times_of_its_process() -> None:
    seen = process_seen(H1, 7, run=RUN.id, started_at=NOW - 7_200 + 30)
    [process] = fleet_after(seen).processes.values()
    found = after_fleet(replace(RUN, started_at=None), process, NOW, 30.0)
    assert found.started_at == NOW - 7_200
    gone = replace(process, state=ProcessState.GONE, ended_at=NOW - 600)
    ended = after_fleet(found, gone, NOW, 30.0)
    assert (ended.started_at, ended.ended_at) == (NOW - 7_200, NOW - 600)


def test_a_run_of_another_host_is_elsewhere_until_its_log_has_ended() -> None:
    row = {"there": True, "started": True, "alive": False, "host": "node1\x1b[2J"}
    known = look(**row, is_here=None, out=RECORD)
    assert known.state is RunState.FINISHING, "an older start recorded no host"
    away = look(**row, is_here=False, out=RECORD)
    assert (away.state, away.has_failed, away.is_over) == (RunState.ELSEWHERE, False, False)
    assert "node1" in away.message
    assert "\x1b" not in away.message
    for logs in ([log("started")], [], [{"log": "/x", "error": "bad"}]):
        still = after_logs(away, report(*logs), NOW, is_alive=False)
        assert (still.state, still.message) == (RunState.ELSEWHERE, away.message)
    over = after_logs(away, report(log("success")), NOW, is_alive=False)
    assert (over.state, over.message) == (RunState.SUCCESS, "")


def test_a_process_that_outlives_its_eval_is_named_and_keeps_nothing_open() -> None:
    row = {"there": True, "started": True, "alive": False, "out": RECORD}
    found = look(**row, left=[[4711, "python server.py\x1b[2J"]])
    assert found.state is RunState.FINISHING
    done = after_logs(found, report(log("success")), NOW, is_alive=False)
    assert done.state is RunState.SUCCESS
    assert done.leftover.startswith("1 process of this run still runs: 4711, python server.py")
    assert "\x1b" not in done.leftover
    gone = after_poll(done, {"run": RUN.id, **row}, NOW, is_abandoned=True)
    assert (gone.state, gone.leftover) == (RunState.SUCCESS, "")


NO_LISTS: list[Any] = [[7], [[]], [[None, None, None]], "x", {"a": 1}, [[[], {}]]]


@pytest.mark.parametrize("left", NO_LISTS)
def test_no_list_of_processes_breaks_a_run(left: Any) -> None:
    assert look(there=True, started=True, alive=False, out=RECORD, left=left).state is (
        RunState.FINISHING
    )


def test_a_process_without_an_environment_is_the_one_that_the_runs_record_names() -> None:
    fleet = fleet_after(process_seen(H1, 7, run=None))
    [process] = fleet.processes.values()
    ours = replace(RUN, pid=7, start=process.key.start)
    assert fleet.process_of_run(ours) == process
    assert fleet.process_of_run(replace(ours, start="another-start")) is None
    assert fleet.process_of_run(replace(ours, start=None)) is None
    other = fleet_after(process_seen(H1, 7, run="20260101-000000-bbbbbbbb"))
    assert other.process_of_run(ours) is None, "another run's"


def test_a_run_that_is_found_late_has_the_times_of_its_logs() -> None:
    times = {
        "started_at": "1970-01-01T00:15:25+00:00", "completed_at": "1970-01-01T00:16:05+00:00",
    }  # fmt: skip
    late = replace(RUN, state=RunState.FINISHING, started_at=NOW - 3, ended_at=NOW)
    rows = [{**row, "header": {**row["header"], **times}} for row in (log("success"),)]
    done = after_logs(late, report(*rows), NOW, is_alive=False, offset=5.0)
    assert (done.started_at, done.ended_at) == (920.0, 960.0)
    # Its process was thought to be gone before: its host did not answer, or its clock was set.
    early = replace(late, ended_at=930.0)
    assert after_logs(early, report(*rows), NOW, is_alive=False).ended_at == 965.0
    assert after_logs(early, report(*rows), 940.0, is_alive=False).ended_at == 940.0
    # Two instances measure clocks that agree with a difference of milliseconds.
    for noise in (0.018, -0.2, 0.0):
        same = after_logs(late, report(*rows), NOW, is_alive=False, offset=noise)
        assert (same.started_at, same.ended_at) == (925.0, 965.0)
    # A log without an end says only until when its eval wrote.
    row = log("started", "b")
    header = {**row["header"], "started_at": times["started_at"], "last_written_at": 975.0}
    lost = after_logs(late, report({**row, "header": header}), NOW, is_alive=False, offset=5.0)
    assert (lost.state, lost.started_at, lost.ended_at) == (RunState.LOST, 920.0, 970.0)


def stopped(task_id: str) -> dict[str, Any]:
    """The log of a task that an operator cancelled."""
    row = log("error", task_id)
    error = "TerminateTaskError('Task cancelled by user (abort)')"
    return {**row, "header": {**row["header"], "error": error}}


@pytest.mark.parametrize(
    ("rows", "is_alive", "state", "status"),
    [
        ([log("success"), stopped("b")], False, RunState.CANCELLED, "cancelled"),
        ([log("error"), stopped("b")], False, RunState.ERROR, "error"),
        ([log("success")], False, RunState.SUCCESS, "success"),
        ([log("success"), log("error", "b")], False, RunState.ERROR, "error"),
        ([log("error")], True, RunState.FINISHING, "error"),
        ([log("success"), log("cancelled", "b")], False, RunState.CANCELLED, "cancelled"),
        ([log("error"), log("cancelled", "b")], False, RunState.ERROR, "error"),
        ([log("started")], False, RunState.LOST, "started"),
        ([log("started")], True, RunState.FINISHING, "started"),
        # The newest log of a task that was tried again counts.
        ([log("success"), log("error")], False, RunState.SUCCESS, "success"),
        ([], False, RunState.ERROR, "error"),
        ([{"log": "/x", "error": "bad\x1b[2J"}], False, RunState.UNREADABLE, "unreadable"),
        ([{"log": "/x", "header": "junk"}], False, RunState.UNREADABLE, "unreadable"),
        # What can't be read may say anything.
        ([{"log": "/x", "error": "bad"}, log("success")], False, RunState.UNREADABLE, "success"),
        ([{"log": "/x", "error": "bad"}, log("success")], True, RunState.FINISHING, "success"),
    ],
)
def test_only_logs_prove_how_a_run_ended(
    rows: list[dict[str, Any]], is_alive: bool, state: RunState, status: str
) -> None:
    run = replace(RUN, state=RunState.FINISHING)
    found = after_logs(run, report(*rows), NOW, is_alive=is_alive)
    assert (found.state, found.status) == (state, status)
    assert "\x1b" not in found.message


def test_logs_that_cannot_be_read_prove_nothing() -> None:
    run = replace(RUN, state=RunState.FINISHING)
    no_logs = {"error": "NoCredentialsError: Unable to locate credentials"}
    first = after_logs(run, no_logs, NOW, is_alive=False, is_patient=True)
    assert first.state is RunState.FINISHING
    later = after_logs(first, no_logs, NOW, is_alive=False)
    assert (later.state, later.is_over, later.has_failed) == (RunState.UNREADABLE, False, False)
    assert "NoCredentialsError" in later.message
    row = {"there": True, "started": True, "alive": False, "out": RECORD}
    again = after_poll(later, {"run": RUN.id, **row}, NOW, is_abandoned=True)
    assert again.state is RunState.UNREADABLE
    found = after_logs(again, report(log("success")), NOW, is_alive=False)
    assert (found.state, found.message) == (RunState.SUCCESS, "")


def test_a_run_that_left_no_log_says_what_its_output_says_and_whose_logs_are_there() -> None:
    output = "x\nValueError: Model API nosuch of model 'nosuch/x' not recognized.\n"
    answer: dict[str, Any] = {"logs": [], "others": 2, "output": output}
    found = after_logs(replace(RUN, state=RunState.FINISHING), answer, NOW, is_alive=False)
    assert found.state is RunState.ERROR
    assert found.message == (
        "its process ended and left no log; 2 other logs are in that folder:"
        " Inspect does not know the provider nosuch"
    )


def test_a_failed_run_names_the_causes_of_its_samples_errors() -> None:
    errors = [["ValueError('no file 17')", 1, "q1", 1], ["ValueError('no file 4')", 2, "q2", 1],
              ["TimeoutError()", 1, "q3", 1]]  # fmt: skip
    counts = {"total": 5, "completed": 1, "errored": 4, "cancelled": 0, "scored": 1}
    rows = {**log("error"), "samples": {"counts": counts, "errors": errors, "rows": []}}
    found = after_logs(RUN, report(rows), NOW, is_alive=False)
    assert found.state is RunState.ERROR
    assert found.message.startswith("4 samples errored: 3 x ValueError")
    assert "1 x TimeoutError" in found.message
    [one] = found.logs
    assert [(group.count, group.example) for group in one.errors] == [
        (3, ("q1", 1)),
        (1, ("q3", 1)),
    ]


def test_a_run_of_another_operator_is_known_by_its_manifest() -> None:
    manifest = {"run": RUN.id, "at": 5, "operator": "Bob", "task": "t", "spec": {"task": "t"}}
    seen = run_from_manifest(H1, {"run": RUN.id, "manifest": manifest}, NOW)
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
def test_a_folder_whose_name_is_not_a_run_id_is_not_a_run(name: str) -> None:
    assert run_from_manifest(H1, {"run": name, "manifest": {"run": name}}, NOW) is None
