"""The runs in the header. It is drawn with the first frame, so this module imports little."""

from core.fleet import Fleet
from core.format import plural
from core.model.run import RunState
from core.views.cells import Span, span_of

_FAILED_FOR_S = 1_800.0
"""How long the header shows that a run of this operator failed, seconds."""
_STARTING = frozenset({RunState.PREPARING, RunState.QUEUED, RunState.STARTING})


def run_totals(fleet: Fleet, now: float) -> tuple[Span, ...]:
    """Return how many runs are starting and how many failed lately; empty: none."""
    starting, failed = 0, {RunState.ERROR: 0, RunState.LOST: 0}
    for run in fleet.runs.values():
        if run.state in _STARTING:
            starting += 1
        elif run.has_failed and run.is_ours and now - (run.ended_at or run.at) < _FAILED_FOR_S:
            failed[run.state] += 1
    total = starting + sum(failed.values())
    if not total:
        return ()
    spans = [span_of(plural(total, "run"))]
    spans += [span_of(f" {count} {state}", "hand") for state, count in failed.items() if count]
    spans += [span_of(f" {starting} starting", "dim")] if starting else []
    return tuple(spans)
