"""Changes of runs."""

from collections import Counter

from core.events import RunChanged
from core.fleet import Fleet
from core.fold.immutable import with_fields, with_item, without

MAX_RUNS = 1_000
"""Runs in the fleet at most; all of them are in the history."""


def change_run(fleet: Fleet, event: RunChanged) -> Fleet:
    """Return the fleet with a run as it is now.

    Over the limit, the machine that has the most runs loses its oldest: those that are over, then
    those that somebody else launched. So no machine pushes out the runs of the others.
    """
    runs = with_item(fleet.runs, event.run.id, event.run)
    while len(runs) > MAX_RUNS:
        [(most, _)] = Counter(run.machine for run in runs.values()).most_common(1)
        leaving = [
            (not run.is_over, run.at, key)
            for key, run in runs.items()
            if run.machine == most and (run.is_over or not run.is_ours)
        ]
        if not leaving:
            break  # all of them are the operator's own, and not over
        runs = without(runs, {key for *_, key in sorted(leaving)[: len(runs) - MAX_RUNS]})
    return with_fields(fleet, runs=runs)
