"""A process that the kernel killed for lack of memory is named so, and stays until it is read."""

import pytest

from core.events import ProcessGone
from core.model.process import OutOfMemory
from tests.support.fleets import (
    NOW,
    judged_after,
    link,
    named,
    process_key,
    process_seen,
    task_row,
    tasks_seen,
)


@pytest.mark.parametrize(
    ("killed", "begin", "cause"),
    [
        ("kernel", "Process 100 was killed for lack of memory after 6m 00s; 1 task was", "record"),
        ("group", "Process 100 was probably killed for lack of memory after", "control group"),
    ],
)
def test_a_kill_for_lack_of_memory_is_an_alarm_with_its_cause(
    killed: OutOfMemory, begin: str, cause: str
) -> None:
    gone = ProcessGone(at=NOW + 60, process=process_key(), killed=killed)
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(task_row()), gone)
    [found] = [each for each in fleet.findings if each.id.startswith("killed:")]
    assert found.text.startswith(begin)
    assert cause in found.cause
    assert (found.severity, found.waits) == ("alarm", True)
    assert [each for each in fleet.findings if each.id.startswith("went:")] == []


def test_another_end_is_not() -> None:
    gone = ProcessGone(at=NOW + 60, process=process_key())
    fleet = judged_after(named(), link(), process_seen(), tasks_seen(task_row()), gone)
    assert not any(each.id.startswith("killed:") for each in fleet.findings)
