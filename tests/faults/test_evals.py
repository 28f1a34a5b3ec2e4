"""Evals that end, die, block and try again, on two machines, as the desk sees them."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.events import ProcessGone, ProcessSeen, TasksSeen
from core.ids import MachineName
from core.model.process import Process, ProcessState
from core.model.task import TaskState
from tests.support.desk_on_evals import Watched, watching
from tests.support.evals import Eval, Evals
from tests.support.reached import machine_of
from tests.support.sshd import Sshd, running
from tests.support.waiting import WAIT_S

RED, BLUE = MachineName("red"), MachineName("blue")


@dataclass(frozen=True)
class TwoMachines:
    """Two sshds; their root users watch a data folder each."""

    red: Sshd
    blue: Sshd

    def watching(self, evals: Evals) -> AbstractAsyncContextManager[Watched]:
        """Run a desk over both."""
        known = evals.folder / "known_hosts"
        known.write_text(self.red.known_hosts_line() + self.blue.known_hosts_line())
        machines = [
            machine_of(sshd, "root", name=name, data_dir=str(data_dir(evals, name)))
            for name, sshd in ((RED, self.red), (BLUE, self.blue))
        ]
        return watching(machines, known)

    def place(self, evals: Evals, name: MachineName) -> dict[str, Any]:
        """Return the data folder of a machine's evals, and a process in that machine."""
        process = (self.red if name == RED else self.blue).process
        assert process is not None
        return {"data_dir": data_dir(evals, name), "beside": process.pid}


def data_dir(evals: Evals, name: MachineName) -> Path:
    """The data folder of a machine's evals."""
    return evals.folder / name


@pytest.fixture
def two_machines(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TwoMachines]:
    (tmp_path / "operator").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "operator"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with (
        running(tmp_path_factory.mktemp("red")) as red,
        running(tmp_path_factory.mktemp("blue"), "MaxSessions 4") as blue,
    ):
        yield TwoMachines(red, blue)


@pytest.mark.slow
async def test_three_processes_on_two_machines_and_how_two_of_them_end(
    two_machines: TwoMachines, evals: Evals
) -> None:
    gate = evals.folder / "gate"
    ends = evals.start("turns", args={"samples": 2, "gate": gate}, **two_machines.place(evals, RED))
    dies = evals.start(
        "tools", args={"samples": 4, "naps": 1, "seconds": 3_600}, **two_machines.place(evals, RED)
    )
    stays = evals.start("errors", **two_machines.place(evals, BLUE), keep=True)
    async with two_machines.watching(evals) as watched:
        for one, machine in ((ends, RED), (dies, RED), (stays, BLUE)):
            await watched.key(one, machine)
        assert {(task.machine, task.process.pid) for task in watched.fleet.tasks} == {
            (RED, ends.pid),
            (RED, dies.pid),
            (BLUE, stays.pid),
        }

        async def until(one: Eval, machine: MachineName, wanted: ProcessState) -> Process:
            def there() -> Process | None:
                process = watched.process(one, machine)
                return process if process is not None and process.state is wanted else None

            return await watched.until(there, f"{machine} {wanted}")

        def ended(one: Eval, machine: MachineName, name: str, wanted: TaskState) -> bool:
            task = watched.task(one, name, machine)
            assert task is not None
            if task.state is TaskState.SUCCESS:
                assert task.header is not None
                assert task.header.status == "success"
            return task.state is wanted

        gate.touch()
        await until(ends, RED, ProcessState.GONE)
        assert ends.popen.wait(WAIT_S) == 0
        await watched.until(lambda: ended(ends, RED, "turns", TaskState.SUCCESS), "success")

        dies.kill()
        assert dies.socket.exists()
        await until(dies, RED, ProcessState.GONE)
        await watched.until(lambda: ended(dies, RED, "tools", TaskState.LOST), "lost")

        await until(stays, BLUE, ProcessState.PARKED)
        await watched.until(lambda: ended(stays, BLUE, "errors", TaskState.SUCCESS), "parked")
        errors = watched.task(stays, "errors", BLUE)
        assert errors is not None
        assert errors.row.samples.errored == 3
        gone = [event for event in watched.events if isinstance(event, ProcessGone)]
        assert [event.process.pid for event in gone] == [ends.pid, dies.pid]
    async with two_machines.watching(evals) as afresh:
        await afresh.key(stays, BLUE)
        await afresh.desk.first_poll(WAIT_S)
        # The one that was killed left files, so it is found again.
        known = {key.pid: process.is_gone for key, process in afresh.fleet.processes.items()}
        assert known == {dies.pid: True, stays.pid: False}


async def test_a_blocked_loop_is_starved_not_gone_and_a_retry_is_the_same_task(
    two_machines: TwoMachines, evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.watch.process_list.BUSY_AFTER_S", 1.0)
    monkeypatch.setattr("core.watch.process_list.STARVED_AFTER_S", 5.0)
    gate = evals.folder / "gate"
    blocked = evals.start(
        "blocked", args={"gate": gate, "seconds": 11, "rest": 30}, **two_machines.place(evals, RED)
    )
    again = evals.start(
        "errors",
        args={"always": 0, "fatal": "true", "sleep": 1, "samples": 3, "gate": gate},
        options=("--retry-attempts=3",), eval_set=True, keep=True,
        **two_machines.place(evals, BLUE),
    )  # fmt: skip
    async with two_machines.watching(evals) as watched:
        key = await watched.key(blocked, RED)
        first = await watched.key(again, BLUE)
        gate.touch()

        def state() -> ProcessState | None:
            process = watched.process(blocked, RED)
            return process.state if process is not None else None

        await watched.until(lambda: state() is ProcessState.STARVED, "starved")
        task = watched.task(blocked, "blocked", RED)
        assert task is not None
        assert task.state is TaskState.RUNNING
        assert watched.fleet.at - task.heard_at > 5.0

        def tried_again() -> bool:
            rows = [
                row
                for event in watched.events
                if isinstance(event, TasksSeen) and event.process == first
                for row in event.rows
            ]
            return len({row.eval_id for row in rows}) == 2 and rows[-1].attempts == 2

        await watched.until(tried_again, "a second attempt")
        tasks = watched.tasks(again, BLUE)
        assert len(tasks) == 1

        await watched.until(lambda: state() is ProcessState.LIVE, "live again")
        states = [
            event.state
            for event in watched.events
            if isinstance(event, ProcessSeen) and event.process == key
        ]
        assert {ProcessState.GONE, ProcessState.HEADLESS}.isdisjoint(states)
        starved = states.index(ProcessState.STARVED)
        assert states[starved - 1] is ProcessState.BUSY

        def succeeded() -> bool:
            task = watched.task(again, "errors", BLUE)
            return task is not None and task.state is TaskState.SUCCESS

        await watched.until(succeeded, "the second attempt's log")
        task = watched.task(again, "errors", BLUE)
        assert task is not None
        assert task.header is not None
        assert task.header.eval_id == task.row.eval_id
        assert task.row.attempts == 2
