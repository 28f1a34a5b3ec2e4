"""A target that fits nothing: the message names an eval whose tasks could not be read."""

import pytest

from cli.commands.silence import silence_named
from core.errors import EvalroomError, NoMachineReached, TargetUnknown
from core.events import Event, ReadFailed
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    fleet_after,
    link,
    named,
    probe_answered,
    process_key,
    process_seen,
    task_row,
    tasks_seen,
)

UNREAD = ReadFailed(at=NOW, process=process_key(), what="tasks", reason="no answer in 15 s")


def error_of(*events: Event, machine: str | None = None) -> EvalroomError:
    fleet = fleet_after(named(), link(), probe_answered(), process_seen(), *events)
    with pytest.raises(EvalroomError) as raised, silence_named(fleet, polled=True):
        raise TargetUnknown("no task matches turns", machine=machine)
    return raised.value


@pytest.mark.parametrize("machine", [None, H1])
def test_an_eval_whose_tasks_could_not_be_read_is_named(machine: str | None) -> None:
    error = error_of(UNREAD, machine=machine)
    assert isinstance(error, NoMachineReached)
    assert error.message == (
        "no task matches turns. The tasks of pid 100 on h100-1 could not be read: no answer in 15 s"
    )


def test_an_eval_of_another_machine_is_not_named() -> None:
    assert isinstance(error_of(UNREAD, machine=H2), TargetUnknown)


def test_an_eval_whose_tasks_are_known_or_not_tried_yet_is_not_named() -> None:
    assert isinstance(error_of(), TargetUnknown)
    assert isinstance(error_of(tasks_seen(task_row()), UNREAD), TargetUnknown)
