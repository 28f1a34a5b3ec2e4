"""Disks and the log folder: no room, no permission to write, logs that are already in it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.launch.plan.run_plan import RUNS_FOLDER
from core.launch.preflight.assessment import assess_run
from core.launch.preflight.survey_facts import RunFolderFacts, RunningEval, SurveyFacts
from core.model.machine import Memory, ToolState
from core.model.process import Process, ProcessState
from core.model.run import Run, RunState
from core.model.task import Task, TaskRow, TaskState
from tests.support.specs import LOCAL, plan, spec
from tests.support.surveys import (
    GIB,
    GIVEN,
    WELL,
    failed,
    folder,
    found,
    judged,
    texts,
)

LOGS = "/data/logs"


def with_logs(**changes: Any) -> SurveyFacts:
    return replace(WELL, logs={LOGS: found(folder(**{"full": LOGS, "near": LOGS, **changes}))})


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (with_logs(is_writable=False), f"stop log folder: {LOGS} is not writable"),
        (with_logs(exists=False, is_writable=False, near="/data"), "stop log folder: /data is not"),
        (with_logs(is_folder=False, near="/data/logs"), f"stop log folder: {LOGS} is not a folder"),
        (with_logs(read_only=True), f"stop log folder: the disk of {LOGS} is read-only"),
        (with_logs(free=0, disk=7), "stop disk: the disk of logs is full: only 0 MiB free"),
        (with_logs(free=GIB, disk=7), "warning disk: only 1.0 GiB free for logs"),
        (with_logs(eval_set="abc", tasks=(("gpqa", "openai/x"),), logs=3),
         f"stop log folder: {LOGS} contains another eval-set: gpqa with openai/x (3 logs); "),
        (with_logs(eval_set="abc", tasks=(("evalroom/smoke", "mockllm/model"),), logs=1),
         "warning log folder: /data/logs contains an eval-set of the same task and model (1 log);"),
        (with_logs(eval_set="abc", logs=1),
         f"warning log folder: {LOGS} contains an eval-set with unknown tasks (1 log);"),
        (with_logs(logs=2), f"stop log folder: {LOGS} contains 2 logs but no eval-set; c"),
        (replace(WELL, logs={LOGS: failed(ToolState.STUCK, "no answer in 4 s")}),
         f"warning log folder: {LOGS} does not respond: no answer in 4 s"),
        (replace(with_logs(), running=found((RunningEval(pid=7, user="bo", log_dir=LOGS),))),
         f"stop log folder: the eval with pid 7 of bo is logging into {LOGS}; wait until"),
    ],
)  # fmt: skip
def test_a_log_folder_that_will_not_do_is_reported(facts: SurveyFacts, says: str) -> None:
    sentences = texts(judged(spec(GIVEN + f'log_dir = "{LOGS}"'), facts))
    assert any(each.startswith(says) for each in sentences), sentences


def test_an_eval_set_without_a_log_keeps_nobody_out() -> None:
    asked = spec(GIVEN + f'log_dir = "{LOGS}"')
    assert texts(judged(asked, with_logs(eval_set="abc", tasks=(("x", "y"),)))) == []


def test_foreign_logs_are_allowed_where_the_spec_allows_them() -> None:
    asked = spec(GIVEN + f'log_dir = "{LOGS}"\noptions = {{ log_dir_allow_dirty = true }}')
    [sentence] = texts(judged(asked, with_logs(logs=2)))
    assert sentence.startswith("warning log folder")


@pytest.mark.parametrize("where", [LOGS, "s3://bucket/logs"])
def test_a_run_or_an_eval_of_the_fleet_in_the_same_folder_is_a_clash(where: str) -> None:
    name = MachineName("local" if where == LOGS else "other")
    run = Run(
        id="r1", machine=name, at=0, operator="bo", state=RunState.RUNNING, task="t", model="m",
        log_dir=where,
    )  # fmt: skip
    asked = spec(GIVEN + f'log_dir = "{where}"')
    [sentence] = texts(judged(asked, with_logs(), Fleet(runs={"r1": run})))
    assert sentence.startswith(f"stop log folder: the run r1 on {name} is logging into {where}")
    over = replace(run, state=RunState.SUCCESS)
    assert texts(judged(asked, with_logs(), Fleet(runs={"r1": over}))) == []

    key = ProcessKey(name, 42, "x")
    row = TaskRow(task_id="a", eval_id="b", log_location=f"{where}/1.eval")
    running = TaskState.RUNNING
    task = Task(key=TaskKey(key, "a"), row=row, state=running, as_of=0, heard_at=0, seen_at=0)
    process = Process(key=key, state=ProcessState.LIVE, since=0)
    fleet = Fleet(processes={key: process}, tasks={task.key: task})
    [sentence] = texts(judged(asked, with_logs(), fleet))
    assert sentence.startswith(
        f"stop log folder: the eval with pid 42 on {name} is logging into {where}"
    )


@pytest.mark.parametrize(
    ("places", "says"),
    [
        (
            {"~": found(folder(free=0))},
            "stop disk: the disk of the home folder is full: only 0 MiB",
        ),
        (
            {RUNS_FOLDER: found(folder(has_files_left=False))},
            "can't hold more files; delete files on that disk",
        ),
        (
            {RUNS_FOLDER: found(folder(is_writable=False, near="/x"))},
            "stop run: /x is not writable",
        ),
        (
            {"~": found(folder(read_only=True))},
            "stop disk: the disk of the home folder is read-only",
        ),
    ],
)
def test_a_disk_without_room_is_reported(places: Mapping[str, Any], says: str) -> None:
    sentences = texts(judged(spec(GIVEN), replace(WELL, places=places)))
    assert any(says in each for each in sentences), sentences


def test_a_busy_machine_is_a_warning() -> None:
    assert WELL.host.value is not None
    host = replace(WELL.host.value, load=(99.0,), memory=Memory(available=300 * 1024**2))
    sentences = texts(judged(spec(GIVEN), replace(WELL, host=found(host))))
    assert sentences[0].startswith("warning memory: only 0.3 GiB of memory free")
    assert sentences[1].startswith("warning load: the load is 99 on 8 processors")


def test_a_run_is_not_started_a_second_time() -> None:
    made = plan(spec(GIVEN))
    facts = replace(
        WELL, runs={made.directory: found(RunFolderFacts(exists=True, is_started=True))}
    )
    [sentence] = texts(assess_run(made, facts, Fleet()))
    assert sentence.startswith(f"stop run: {made.run} was already started on this machine")


def test_a_data_folder_whose_sockets_would_have_too_long_a_path_is_reported() -> None:
    long = "/very" * 20
    there = replace(LOCAL, data_dir=long)
    checks = assess_run(plan(spec(), machine=there), WELL, Fleet())
    [stop] = [each for each in checks if each.name == "control channel"]
    assert stop.level == "stop"
    assert "132 bytes; the limit is 107" in stop.message
    host = WELL.host.value
    assert host is not None
    at_home = replace(WELL, host=found(replace(host, home=long)))
    checks = assess_run(plan(spec()), at_home, Fleet())
    assert [each.level for each in checks if each.name == "control channel"] == ["warning"]
    checks = assess_run(plan(spec()), WELL, Fleet())
    assert not [each for each in checks if each.name == "control channel"]
