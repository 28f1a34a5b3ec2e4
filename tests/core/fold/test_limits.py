"""Whatever a machine sends, the fleet holds a bounded part of it, and says what it leaves out."""

from dataclasses import replace

import pytest

from core.events import OperationsSeen, ProcessesCut, TasksSeen
from core.fleet import Fleet
from core.ids import MachineName
from core.judge.finding_list import MAX_FINDINGS, with_findings
from core.model.finding import Finding
from core.model.limits import (
    MAX_OPERATIONS,
    MAX_PROCESS_OPERATIONS,
    MAX_PROCESS_TASKS,
    MAX_PROCESSES,
    MAX_TASKS,
    ROW_UNIT_BYTES,
    LeftOut,
)
from core.model.operation import Operation
from core.model.process import ProcessState
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    fleet_after,
    judged_after,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)


def machine_with(processes: int) -> Fleet:
    """Return a fleet of two machines; the first has so many processes."""
    events = (process_seen(pid=pid) for pid in range(1, processes + 1))
    return fleet_after(named(), named(H2), *events, process_seen(H2, 1))


def rows(count: int, *, first: int = 0, size: int = 0) -> TasksSeen:
    raw = b"x" * size
    listed = (task_row(f"t{number}", raw=raw) for number in range(first, first + count))
    return tasks_seen(*listed, pid=1)


def test_a_machine_at_its_limit_gets_no_more_processes_and_others_do() -> None:
    full = machine_with(MAX_PROCESSES)
    more = fleet_after(process_seen(pid=9_999), process_seen(H2, 9_999), fleet=full)
    assert process_key(pid=9_999) not in more.processes
    assert process_key(H2, 9_999) in more.processes
    assert len(more.processes) == MAX_PROCESSES + 2


def test_gone_processes_leave_first_with_their_tasks() -> None:
    full = fleet_after(rows(3), process_gone(pid=1), fleet=machine_with(MAX_PROCESSES))
    more = fleet_after(process_seen(pid=9_999), fleet=full)
    assert process_key(pid=9_999) in more.processes
    assert process_key(pid=1) not in more.processes
    assert not more.tasks


def test_a_process_of_a_long_command_counts_as_several() -> None:
    full = machine_with(MAX_PROCESSES - 10)
    large = replace(process_seen(pid=9_999), units=11)
    assert process_key(pid=9_999) not in fleet_after(large, fleet=full).processes
    fleet = fleet_after(replace(large, units=10), fleet=full)
    assert process_key(pid=9_999) in fleet.processes
    assert process_key(pid=9_998) not in fleet_after(process_seen(pid=9_998), fleet=fleet).processes
    grown = fleet_after(replace(large, state=ProcessState.STARVED), fleet=fleet)
    assert grown.processes == fleet.processes
    fleet = fleet_after(process_gone(pid=1), large, fleet=fleet)
    assert fleet.processes[process_key(pid=9_999)].units == 11
    assert process_key(pid=1) not in fleet.processes


def test_the_operations_of_a_machine_are_bounded_and_the_oldest_are_kept() -> None:
    each = Operation(action="Model", what="Model", since=NOW)
    doing = [replace(each, since=NOW - number) for number in range(MAX_PROCESS_OPERATIONS)]
    fleet = machine_with(20)
    for pid in range(1, 21):
        seen = OperationsSeen(at=NOW, process=process_key(pid=pid), operations=tuple(doing))
        fleet = fleet_after(seen, fleet=fleet)
    fleet = fleet_after(process_gone(pid=1), fleet=fleet)
    again = OperationsSeen(at=NOW, process=process_key(pid=20), operations=tuple(doing[:-500]))
    process = fleet_after(again, fleet=fleet).processes[process_key(pid=20)]
    assert process.operations is not None
    assert len(process.operations) == MAX_PROCESS_OPERATIONS - 500
    held = [each.operations or () for each in fleet.processes.values()]
    assert sum(map(len, held)) == MAX_OPERATIONS - MAX_PROCESS_OPERATIONS
    few = fleet_after(
        OperationsSeen(at=NOW, process=process_key(pid=2), operations=tuple(doing[:1])),
        OperationsSeen(at=NOW, process=process_key(pid=19), operations=tuple(doing)),
        OperationsSeen(at=NOW, process=process_key(pid=20), operations=tuple(doing)),
        fleet=fleet,
    )
    kept = few.processes[process_key(pid=20)].operations
    assert kept is not None
    assert len(kept) == MAX_PROCESS_OPERATIONS - 1
    assert kept[0] == doing[-1]
    assert doing[0] not in kept


def test_operations_that_are_left_out_are_counted_and_said_until_they_end() -> None:
    each = Operation(action="Model", what="Model", since=NOW)
    full = (each,) * MAX_PROCESS_OPERATIONS
    fleet = machine_with(11)
    for pid in range(1, 12):
        seen = OperationsSeen(
            at=NOW, process=process_key(pid=pid), operations=full, left_out=7 if pid == 11 else 0
        )
        fleet = judged_after(seen, fleet=fleet)
    left_out = fleet.machines[H1].left_out
    assert left_out == LeftOut(operations=MAX_PROCESS_OPERATIONS + 7)
    assert left_out.words == "1,007 operations"
    [finding] = [each for each in fleet.findings if each.kind == "limits"]
    assert "1,007 operations" in finding.text
    ended = judged_after(process_gone(pid=11), fleet=fleet)
    assert ended.machines[H1].left_out == LeftOut()
    fewer = OperationsSeen(at=NOW + 1, process=process_key(pid=11), operations=())
    assert judged_after(fewer, fleet=fleet).machines[H1].left_out == LeftOut()


def test_what_is_left_out_is_on_the_machine_and_is_one_finding_that_closes() -> None:
    fleet = judged_after(named(), ProcessesCut(at=NOW, machine=H1, left_out=1_500))
    fleet = judged_after(ProcessesCut(at=NOW + 1, machine=H1, left_out=1_501), fleet=fleet)
    assert fleet.machines[H1].left_out == LeftOut(processes=1_501)
    [finding] = fleet.findings
    assert "1,500 processes" in finding.text
    fleet = judged_after(ProcessesCut(at=NOW + 2, machine=H1, left_out=0), fleet=fleet)
    [finding] = fleet.findings
    assert finding.closed_at == NOW + 2
    assert not fleet.machines[H1].left_out.is_any


def test_one_process_can_not_take_the_place_of_the_others_tasks() -> None:
    fleet = fleet_after(rows(MAX_PROCESS_TASKS + 7), fleet=machine_with(2))
    assert len(fleet.tasks) == MAX_PROCESS_TASKS
    process = fleet.processes[process_key(pid=1)]
    assert process.tasks_left_out == 7
    assert "7 more tasks are not shown" in (process.trouble or "")
    assert fleet.machines[H1].left_out.tasks == 7
    fleet = fleet_after(rows(3), tasks_seen(task_row("u"), pid=2), fleet=fleet)
    assert fleet.machines[H1].left_out.tasks == 0
    assert task_key("u", pid=2) in fleet.tasks


def test_tasks_that_are_new_in_every_answer_do_not_pile_up() -> None:
    fleet = machine_with(1)
    for turn in range(5):
        fleet = fleet_after(rows(900, first=900 * turn), fleet=fleet)
    assert len(fleet.tasks) == MAX_PROCESS_TASKS
    assert task_key("t4499", pid=1) in fleet.tasks
    assert task_key("t0", pid=1) not in fleet.tasks


def test_the_tasks_of_a_machine_are_bounded_and_large_rows_count_as_several() -> None:
    size = 7 * ROW_UNIT_BYTES
    fleet = fleet_after(rows(MAX_PROCESS_TASKS, size=size), fleet=machine_with(2))
    assert len(fleet.tasks) == MAX_TASKS // 8
    fleet = fleet_after(tasks_seen(task_row("u"), pid=2), fleet=fleet)
    assert fleet.machines[H1].left_out.tasks == MAX_PROCESS_TASKS - MAX_TASKS // 8 + 1
    fleet = fleet_after(tasks_seen(task_row("u"), machine=H2, pid=1), fleet=fleet)
    assert task_key("u", H2, 1) in fleet.tasks
    fleet = fleet_after(process_gone(pid=1), tasks_seen(task_row("u"), pid=2), fleet=fleet)
    assert set(fleet.tasks) == {task_key("u", pid=2), task_key("u", H2, 1)}


def test_the_samples_of_a_machine_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.fold.limits.MAX_SAMPLES", 500)
    fleet = fleet_after(named(), process_seen(), tasks_seen(task_row("t1"), task_row("t2")))
    many = [sample(number) for number in range(400)]
    for task in ("t1", "t2"):
        fleet = fleet_after(samples_seen(*many, task=task_key(task)), fleet=fleet)
    assert len(fleet.tasks[task_key("t1")].samples) == 400
    assert len(fleet.tasks[task_key("t2")].samples) == 100
    assert fleet.tasks[task_key("t2")].samples_cut >= 300
    assert fleet.machines[H1].left_out.samples == 300
    fleet = fleet_after(samples_seen(*many[:50], task=task_key("t1")), fleet=fleet)
    fleet = fleet_after(samples_seen(*many, task=task_key("t2")), fleet=fleet)
    assert len(fleet.tasks[task_key("t2")].samples) == 400
    assert fleet.machines[H1].left_out.samples == 0


@pytest.fixture
def many() -> list[MachineName]:
    """Return the names of five machines."""
    return [MachineName(f"m{number}") for number in range(5)]


def test_all_machines_together_have_a_bound_and_each_has_its_share(
    many: list[MachineName], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.fold.limits.MAX_ALL_TASKS", 3_000)
    fleet = fleet_after(*map(named, many), *(process_seen(each, 1) for each in many))
    listed = [task_row(f"t{number}") for number in range(MAX_PROCESS_TASKS)]
    held = list[int]()
    for machine in many:
        fleet = fleet_after(tasks_seen(*listed, machine=machine, pid=1), fleet=fleet)
        held.append(sum(key.machine == machine for key in fleet.tasks))
    assert held == [2_000, 1_000, 600, 600, 600]
    assert fleet.machines[many[2]].left_out.tasks == 1_400


def test_the_samples_and_processes_of_all_machines_have_a_bound_too(
    many: list[MachineName], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.fold.limits.MAX_ALL_SAMPLES", 600)
    monkeypatch.setattr("core.fold.limits.MAX_ALL_PROCESSES", 50)
    fleet = fleet_after(*map(named, many))
    rows = [sample(number) for number in range(400)]
    for machine in many:
        events = (process_seen(machine, pid) for pid in range(1, 31))
        fleet = fleet_after(*events, tasks_seen(task_row(), machine=machine, pid=1), fleet=fleet)
        seen = samples_seen(*rows, task=task_key(machine=machine, pid=1))
        fleet = fleet_after(seen, fleet=fleet)
    of = [sum(key.machine == each for key in fleet.processes) for each in many]
    assert of == [30, 20, 10, 10, 10]
    kept = [len(fleet.tasks[task_key(machine=each, pid=1)].samples) for each in many]
    assert kept == [400, 200, 120, 120, 120]


def test_a_machine_with_a_flood_of_findings_hides_none_of_the_others() -> None:
    def finding(number: int, machine: str) -> Finding:
        return Finding(
            id=f"{machine}{number}",
            kind="link",
            severity="alarm",
            opened_at=NOW,
            machine=H1 if machine == "a" else H2,
            text="",
            is_kept=machine == "a",
        )

    fleet = with_findings(fleet_after(named()), [finding(1, "b"), finding(2, "b")])
    for number in range(3):
        flood = [finding(each, "a") for each in range(number * 400, number * 400 + 400)]
        fleet = with_findings(fleet, flood)
    assert len(fleet.findings) == MAX_FINDINGS
    assert {"b1", "b2"} <= {each.id for each in fleet.findings}
