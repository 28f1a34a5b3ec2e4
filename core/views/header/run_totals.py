"""The runs in the header. It is drawn with the first frame, so this module imports little."""

from collections import Counter

from core.fleet import Fleet
from core.format import plural
from core.model.run import RunState
from core.views.cells import Span, Tone, span_of

_RECENT_S = 1_800.0
"""How long the header counts a run of this operator after its end, seconds."""
_STARTING = frozenset({RunState.PREPARING, RunState.QUEUED, RunState.STARTING})
_TONES: dict[str, Tone] = {
    "lost": "error",
    "error": "error",
    "unreadable": "warning",
    "starting": "dim",
    "running": "dim",
    "finishing": "dim",
    "success": "dim",
    "cancelled": "dim",
}


def run_totals(fleet: Fleet, now: float) -> tuple[Span, ...]:
    """Return the runs under way and those that ended lately, by state.

    Empty while none is starting and none has failed lately: the tasks say the rest.
    """
    words = Counter[str]()
    for run in fleet.runs.values():
        if run.is_over and not (run.is_ours and now - (run.ended_at or run.at) < _RECENT_S):
            continue
        if run.state is not RunState.ELSEWHERE:
            words["starting" if run.state in _STARTING else str(run.state)] += 1
    if not any(words[word] for word in ("starting", "error", "lost", "unreadable")):
        return ()
    spans = [span_of(plural(words.total(), "run"))]
    for word, tone in _TONES.items():
        if words[word]:
            spans.append(span_of(f" {words[word]} {word}", tone))
    return tuple(spans)
