"""More findings of one machine than the list holds: nothing flaps, and no other machine suffers."""

from core.desk.step import advance
from core.fleet import Fleet
from core.ids import MachineName
from core.judge.finding_list import MAX_FINDINGS
from core.model.sample import Activity
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    judged_after,
    link,
    named,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

PROCESSES = 130
EACH = 5


def read(fleet: Fleet, machine: MachineName, pid: int, look: int, hangs_for: float) -> Fleet:
    at = NOW + 15 * look
    activity = Activity(type="tool", started_at=NOW - hangs_for, detail="bash")
    rows = [sample(number, activity=activity) for number in range(EACH)]
    return advance(fleet, samples_seen(*rows, task=task_key(machine=machine, pid=pid), at=at))


def hanging(looks: int, hangs_for: float = 700.0) -> list[Fleet]:
    """Return the fleet after each look at two machines; on one of them far too much hangs."""
    fleet = judged_after(named(), link(), named(H2), link(machine=H2))
    places = [(H2, 100), *((H1, 100 + number) for number in range(PROCESSES))]
    for machine, pid in places:
        row = task_row(total=EACH, flying=EACH)
        fleet = advance(fleet, process_seen(machine=machine, pid=pid))
        fleet = advance(fleet, tasks_seen(row, machine=machine, pid=pid))
    found = list[Fleet]()
    for look in range(looks):
        for machine, pid in places:
            fleet = read(fleet, machine, pid, look, hangs_for)
        found.append(fleet)
    return found


def ids(fleet: Fleet) -> set[str]:
    return {each.id for each in fleet.findings}


def test_what_the_list_has_no_room_for_does_not_open_time_and_again() -> None:
    _, opened, *later = hanging(4)
    assert len(opened.findings) == MAX_FINDINGS
    assert [ids(each) == ids(opened) for each in later] == [True, True]
    assert sum(each.machine == H2 for each in opened.findings) == EACH


def test_what_was_pushed_out_opens_once_there_is_room() -> None:
    *_, fleet = hanging(3)
    before = ids(fleet)
    listed = {each.task.process.pid for each in fleet.findings if each.task and each.machine == H1}
    for look in (3, 4):  # half of what is listed goes on
        for pid in sorted(listed)[: PROCESSES // 2]:
            fleet = read(fleet, H1, pid, look, hangs_for=1.0)
    hidden = next(pid for pid in range(100, 100 + PROCESSES) if pid not in listed)
    fleet = read(fleet, H1, hidden, 5, hangs_for=800.0)
    opened = [each for each in fleet.findings if each.id not in before]
    assert {each.task.process.pid for each in opened if each.task} == {hidden}


def test_an_alarm_takes_the_place_of_what_is_suspect() -> None:
    *_, fleet = hanging(3, hangs_for=200.0)
    assert {each.severity for each in fleet.findings} == {"suspect"}
    listed = {each.task.process.pid for each in fleet.findings if each.task and each.machine == H1}
    hidden = next(pid for pid in range(100, 100 + PROCESSES) if pid not in listed)
    for look in (3, 4):
        fleet = read(fleet, H1, hidden, look, hangs_for=900.0)
    alarms = [each for each in fleet.findings if each.severity == "alarm"]
    assert {each.task.process.pid for each in alarms if each.task} == {hidden}
    assert len(fleet.findings) == MAX_FINDINGS
