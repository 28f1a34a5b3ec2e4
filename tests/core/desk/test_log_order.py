"""In which order the logs of ended tasks are read."""

from typing import cast

from core.desk.log_reader import LogReader
from core.events import LogUnreadable
from core.ports import MachineConnection
from tests.support.fleets import (
    H1,
    NOW,
    fleet_after,
    link,
    named,
    process_gone,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)


def test_what_ended_just_now_is_read_before_what_could_not_be_read() -> None:
    """A command that waits for a few seconds begins with the logs that it can still tell."""
    fleet = fleet_after(named(), link())
    for pid, task in ((1, "missing"), (2, "older"), (3, "newest")):
        for event in (
            process_seen(pid=pid, python=f"/env{pid}/bin/python"),
            tasks_seen(
                task_row(task_id=task, status="completed", log_location=f"/{task}"),
                pid=pid,
                at=NOW + pid,
            ),
            process_gone(pid=pid, at=NOW + pid),
        ):
            fleet = fleet_after(event, fleet=fleet)
    missing = task_key("missing", pid=1)
    lost = LogUnreadable(at=NOW + 4, task=missing, reason="the file does not exist")
    fleet = fleet_after(lost, fleet=fleet)
    reader = LogReader(H1, cast("MachineConnection", None))
    assert reader.next_logs(fleet, NOW + 5) == ((task_key("newest", pid=3),), None)
