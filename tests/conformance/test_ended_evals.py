"""Ended evals are described from their logs: numbers, causes and samples, as Inspect reads them."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log, read_eval_log_sample

from core.ctl import reads
from core.desk.past import Past
from core.errors import NotThere, RequestFailed
from core.events import LogRead
from core.ids import SampleKey
from core.model.log_summary import LogCounts
from core.model.task import Task, TaskState
from tests.support.desk_on_evals import Watched, ended, this_computer, watching, watching_eval
from tests.support.eval_turns import turn_before_all
from tests.support.evals import Evals


async def test_an_ended_eval_is_described_from_its_log_and_its_samples_can_be_read(
    evals: Evals, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    one = evals.start(
        "errors", "turns", args={"samples": 6, "sleep": 0.05, "gate": str(gate)},
        options=("--max-tasks=2", "--no-fail-on-error"),
    )  # fmt: skip
    async with watching_eval(one) as watched:
        tasks = await ended(watched, one, 2, gate=gate)
        errors, turns = sorted(tasks, key=lambda task: task.row.task)
        assert (errors.state, turns.state) == (TaskState.SUCCESS, TaskState.SUCCESS)
        assert errors.logged is not None
        assert errors.logged.counts == LogCounts(
            total=6, completed=3, errored=3, cancelled=0, abandoned=0, scored=3
        )
        assert errors.scored == (3, 6)
        causes = {group.cause: group.count for group in errors.logged.errors}
        assert causes == {
            "ValueError: sample N can never be read (red [bold]b[…])": 2,
            "ConnectionError: sample N lost its sandbox": 1,
        }
        assert {key[0] for key, row in errors.samples.items() if row.has_error} == {1, 3, 6}
        assert all(row.has_ended for row in (*errors.samples.values(), *turns.samples.values()))
        # Each log was read once.
        assert sum(isinstance(event, LogRead) for event in watched.events) == 2
        await _reads_like_inspect(watched, errors, turns)


async def _reads_like_inspect(watched: Watched, errors: Task, turns: Task) -> None:
    read = watched.desk.read
    failed, eval_id = SampleKey(errors.key, 3, 1), errors.row.eval_id
    whole = await asyncio.to_thread(read_eval_log_sample, errors.row.log_location, 3, 1)
    withheld = await reads.read_sample(read, failed, eval_id)
    assert withheld.error is not None
    assert withheld.error.message is None
    assert b"never be read" not in withheld.sample.raw
    shown = await reads.read_sample(read, failed, eval_id, content=True)
    assert shown.error is not None
    assert whole.error is not None
    assert (shown.error.message, shown.error.traceback) == (
        whole.error.message,
        whole.error.traceback,
    )
    with pytest.raises(NotThere):
        await reads.read_sample(read, SampleKey(errors.key, 99, 1), eval_id)

    talk, eval_id = SampleKey(turns.key, "s002", 1), turns.row.eval_id
    whole = await asyncio.to_thread(read_eval_log_sample, turns.row.log_location, "s002", 1)
    page = await reads.read_events(read, talk, eval_id, types="all", content=True)
    assert [event.uuid for event in page.events] == [event.uuid for event in whole.events]
    assert page.done
    assert any(event.content.get("completion") for event in page.events)
    messages = await reads.read_messages(read, talk, eval_id, content=True)
    assert [each.content for each in messages.messages] == [each.text for each in whole.messages]
    store = await reads.read_store(read, talk, eval_id, content=True)
    assert {entry.key: entry.value for entry in store.entries} == {
        name: str(value) for name, value in whole.store.items()
    }
    assert turns.samples["s002", 1].scores == {"includes": "C"}


async def test_drained_and_cancelled_samples_are_neither_done_nor_errored(
    evals: Evals, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    one = evals.start(
        "turns", args={"samples": 12, "gate": str(gate)},
        options=("--max-samples=2", "--log-format=json"),
    ).wait_ready()  # fmt: skip
    async with watching_eval(one) as watched:
        await asyncio.to_thread(
            one.wait_rows, lambda rows: len(rows) == 1 and rows[0]["samples"]["in_flight"] == 2
        )
        row = one.task()
        running = [each for each in one.samples() if each["status"] == "running"]
        assert len(running) == 2
        sample_id = running[0]["sample_id"]
        one.post(f"/tasks/{row['task_id']}/drain")
        one.post(
            f"/evals/{row['eval_id']}/sample/cancel?sample_id={sample_id}&epoch=1&action=cancel"
        )
        gate.touch()
        [task] = await ended(watched, one, 1)
    assert task.row.log_location.endswith(".json")
    log = await asyncio.to_thread(read_eval_log, task.row.log_location)
    assert (task.state, log.status) == (TaskState.SUCCESS, "success")
    counts = task.progress
    assert (counts.completed, counts.errored, counts.cancelled, counts.abandoned) == (1, 0, 1, 10)
    assert task.scored == (1, 12)
    assert task.logged is not None
    assert not task.logged.errors
    words = [finding.text for finding in watched.fleet.findings if finding.kind == "finished"]
    assert len(words) == 1
    assert "1 of 12 samples done, 1 cancelled, 10 abandoned" in words[0]
    assert " over " not in words[0], "the samples that the score is over are said once"


async def test_a_task_that_was_cancelled_by_an_order_has_not_failed(evals: Evals) -> None:
    one = evals.start("turns", args={"samples": 4, "sleep": 3_600}).wait_ready()
    async with watching_eval(one) as watched:
        await asyncio.to_thread(
            one.wait_rows, lambda rows: len(rows) == 1 and rows[0]["samples"]["in_flight"] > 0
        )
        [running] = await watched.until(lambda: watched.tasks(one), "the task is listed")
        one.post(f"/tasks/{running.row.task_id}/cancel")
        [task] = await ended(watched, one, 1)
    assert task.header is not None
    assert (task.state, task.header.status) == (TaskState.CANCELLED, "error")
    [finding] = [each for each in watched.fleet.findings if each.kind == "finished"]
    assert (finding.severity, finding.is_kept) == ("suspect", False)
    assert finding.text.startswith("Cancelled: ")


async def test_a_killed_eval_is_lost_by_its_log_and_a_missing_log_is_unreadable(
    evals: Evals,
) -> None:
    one = evals.start(
        "turns", "tools", args={"samples": 4, "sleep": 3_600, "seconds": 3_600},
        options=("--max-tasks=2",),
    ).wait_ready()  # fmt: skip
    async with watching_eval(one) as watched:
        await asyncio.to_thread(one.wait_rows, lambda rows: len(rows) == 2)
        await watched.until(lambda: len(watched.tasks(one)) == 2, "both tasks are listed")
        logs: dict[str, Any] = {task.row.task: task for task in watched.tasks(one)}
        one.kill()
        hidden = Path(logs["tools"].row.log_location)
        away = await asyncio.to_thread(hidden.rename, hidden.with_suffix(".away"))
        turns, tools = sorted(await ended(watched, one, 2), key=lambda t: t.row.task, reverse=True)
        assert (turns.state, tools.state) == (TaskState.LOST, TaskState.UNREADABLE)
        assert tools.log_problem == "the file does not exist"
        with pytest.raises(RequestFailed, match="the file does not exist"):
            await reads.read_sample(
                watched.desk.read, SampleKey(tools.key, "s001", 1), tools.row.eval_id
            )
        await asyncio.to_thread(away.rename, hidden)
        watched.desk.read_log(tools.key)

        def found() -> bool:
            task = watched.task(one, "tools")
            return task is not None and task.state is TaskState.LOST

        await watched.until(found, "the log is found again")


async def test_an_eval_that_nobody_saw_and_that_was_killed_is_lost_by_what_it_left(
    evals: Evals,
) -> None:
    one = evals.start("turns", args={"samples": 4, "sleep": 3_600}).wait_ready()
    await asyncio.to_thread(
        one.wait_rows, lambda rows: len(rows) == 1 and rows[0]["samples"]["in_flight"] > 0
    )
    task_id = one.task()["task_id"]
    # Nobody has told the desk which interpreter the eval had.
    machine = replace(this_computer(one.data_dir), python=one.python)
    one.kill()
    killed_at = time.time()
    async with watching([machine], one.folder / "known_hosts") as watched:
        [task] = await ended(watched, one, 1)
        process = watched.process(one)
    assert (task.state, task.key.task_id, task.row.task) == (TaskState.LOST, task_id, "turns")
    assert task.header is not None
    assert task.header.buffer is not None
    assert task.logged is not None
    assert process is not None
    assert process.ended_after is not None
    assert process.ended_after <= killed_at + 1
    [lost] = [each for each in watched.fleet.findings if each.kind == "lost"]
    assert "inspect log recover" in lost.text
    # The next eval in this data folder removes its record: its trace and its buffer stay.
    one.record.unlink()
    # This Python has no Inspect: another one of the machine reads the log, or this computer does.
    bare = this_computer(one.data_dir)
    async with watching([bare], one.folder / "known_hosts") as watched:
        [again] = await ended(watched, one, 1)
    assert (again.state, again.row.eval_id) == (TaskState.LOST, task.row.eval_id)


async def test_an_eval_without_a_control_server_is_described_from_its_log(evals: Evals) -> None:
    gate = evals.folder / "gate"
    one = evals.start("turns", args={"samples": 3, "gate": gate}, options=("--ctl-server=false",))
    machine = replace(this_computer(one.data_dir), python=one.python)
    async with watching([machine], one.folder / "known_hosts") as watched:
        process = await watched.until(lambda: watched.process(one), "it is listed")
        assert not process.tasks
        gate.touch()
        [task] = await ended(watched, one, 1)
        assert list(watched.fleet.processes) == [process.key]
    assert (task.state, task.row.task) == (TaskState.SUCCESS, "turns")
    assert (task.progress.completed, task.progress.total) == (3, 3)


async def test_a_success_while_nobody_looked_is_a_success_for_a_probe_that_never_saw_it(
    evals: Evals, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    one = evals.start("turns", args={"samples": 2, "gate": str(gate)}).wait_ready()
    async with watching_eval(one) as watched:
        await watched.key(one)
    gate.touch()
    await asyncio.to_thread(one.popen.wait, 90)
    async with watching_eval(one, past=Past(events=tuple(watched.events))) as again:
        [task] = await ended(again, one, 1)
    assert task.state is TaskState.SUCCESS
    assert task.progress.completed == 2


async def test_evals_that_end_before_they_were_asked_have_rows_from_their_own_logs(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(evals.folder))
    how = {"log_dir": evals.folder / "shared", "data_dir": evals.folder / "data"}
    ends = evals.start("turns", args={"samples": 2, "turns": 1, "sleep": 0}, keep=True, **how)
    dies = evals.start("turns", args={"samples": 1, "turns": 1, "sleep": 300}, **how)
    for one in (ends, dies):
        one.wait_ready()
    ends.wait_finished()
    dies.wait_rows(lambda rows: bool(rows[0]["log_location"]))
    with turn_before_all(ends.pid), turn_before_all(dies.pid):
        async with watching_eval(ends) as watched:
            await watched.until(
                lambda: watched.process(ends) and watched.process(dies), "both are listed"
            )
            assert not watched.fleet.tasks
            ends.release()
            dies.kill()

            def states() -> list[TaskState]:
                return [task.state for one in (ends, dies) for task in watched.tasks(one)]

            await watched.until(
                lambda: states() == [TaskState.SUCCESS, TaskState.LOST], "their logs were read"
            )
            [task] = watched.tasks(ends)
            assert task.logged is not None
            assert task.logged.counts.completed == 2
