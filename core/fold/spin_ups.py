"""How long tasks took until their first sample was done: what a slow spin-up is compared with."""

from collections.abc import Iterator
from itertools import islice
from types import MappingProxyType

from core.events import Event, TasksSeen
from core.fleet import Fleet
from core.fold.immutable import with_fields
from core.task_events import SpinUpTimed

MAX_KNOWN = 2_000
"""Names of tasks, each with a model, of which spin-ups are remembered; the newest ones."""
NEWEST = 5
"""Spin-ups that are remembered of each."""
_MAX_NAME_CHARACTERS = 200


def with_spin_up(fleet: Fleet, event: SpinUpTimed) -> Fleet:
    """Return the fleet with one more spin-up."""
    key = (event.name[:_MAX_NAME_CHARACTERS], event.model[:_MAX_NAME_CHARACTERS])
    took = (*fleet.spin_ups.get(key, ()), event.seconds)[-NEWEST:]
    others = {name: each for name, each in fleet.spin_ups.items() if name != key}
    kept = dict(islice(others.items(), max(0, len(others) + 1 - MAX_KNOWN), None))
    return with_fields(fleet, spin_ups=MappingProxyType({**kept, key: took}))


def timed_spin_ups(before: Fleet, after: Fleet, event: Event) -> Iterator[SpinUpTimed]:
    """Yield the spin-ups whose end an event showed."""
    if not isinstance(event, TasksSeen):
        return
    process = after.processes.get(event.process)
    for key in process.tasks if process is not None else ():
        task, known = after.tasks[key], before.tasks.get(key)
        if task.first_done_s is None or known is None or known.first_done_s is not None:
            continue
        yield SpinUpTimed(
            at=event.at, task=key, name=task.row.task, model=task.row.model,
            seconds=task.first_done_s,
        )  # fmt: skip
