"""How runs come and change."""

from core.events import RunChanged
from core.fleet import Fleet
from core.fold.immutable import with_fields, with_item, without

RUNS_KEPT = 1_000
"""Most runs in the fleet; all of them are in the history."""


def change_run(fleet: Fleet, event: RunChanged) -> Fleet:
    """Return the fleet with a run as it stands now; the oldest that are over go first."""
    runs = with_item(fleet.runs, event.run.id, event.run)
    if len(runs) > RUNS_KEPT:
        over = sorted((run.at, key) for key, run in runs.items() if run.is_over)
        runs = without(runs, {key for _, key in over[: len(runs) - RUNS_KEPT]})
    return with_fields(fleet, runs=runs)
