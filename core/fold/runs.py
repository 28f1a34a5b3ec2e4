"""Changes of runs."""

from core.events import RunChanged
from core.fleet import Fleet
from core.fold.immutable import with_fields, with_item, without

MAX_RUNS = 1_000
"""Runs in the fleet at most; all of them are in the history."""


def change_run(fleet: Fleet, event: RunChanged) -> Fleet:
    """Return the fleet with a run as it is now; over the limit, drop the oldest finished runs."""
    runs = with_item(fleet.runs, event.run.id, event.run)
    if len(runs) > MAX_RUNS:
        over = sorted((run.at, key) for key, run in runs.items() if run.is_over)
        runs = without(runs, {key for _, key in over[: len(runs) - MAX_RUNS]})
    return with_fields(fleet, runs=runs)
