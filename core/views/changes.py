"""Compares two fleets: did anything change except the ages of rows?"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter, is_
from typing import Any, TypeVar

from core.fleet import Fleet
from core.model.machine import LinkStatus, Machine
from core.model.task import Task

K = TypeVar("K")
_Fields = Callable[[Any], tuple[object, ...]]


def _all_but(of: type[Any], *names: str) -> _Fields:
    return attrgetter(*(field.name for field in fields(of) if field.name not in names))


_OF_TASK = _all_but(Task, "as_of", "heard_at", "samples_as_of", "samples_heard_at")
_OF_LINK = _all_but(LinkStatus, "heard_at")
_OF_MACHINE = _all_but(Machine, "link")


def only_older(before: Fleet, after: Fleet) -> bool:
    """Return whether `after` differs from `before` only in the times of the last reads."""
    return (
        before.processes is after.processes
        and before.findings is after.findings
        and before.orders is after.orders
        and before.runs is after.runs
        and _same(before.machines, after.machines, _OF_MACHINE)
        and _same(before.machines, after.machines, _of_link)
        and _same(before.tasks, after.tasks, _OF_TASK)
    )


def _of_link(machine: Machine) -> tuple[object, ...]:
    return _OF_LINK(machine.link)


def _same(before: Mapping[K, object], after: Mapping[K, object], of: _Fields) -> bool:
    if before is after:
        return True
    if len(before) != len(after):
        return False
    return all(
        one is other or all(map(is_, of(one), of(other)))
        for one, other in zip(before.values(), after.values(), strict=True)
    )
