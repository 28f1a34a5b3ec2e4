"""The last events of a sample, for reports: one read, and no word that the agent wrote."""

from collections.abc import Sequence

from core.ctl.reads import ReadFunction, read_events
from core.errors import EvalroomError
from core.fleet import Fleet
from core.ids import SampleKey
from core.model.sample_detail import SampleEvent

LAST_EVENTS = 5


async def last_events(read: ReadFunction, fleet: Fleet, sample: SampleKey) -> Sequence[SampleEvent]:
    """Return the last events of a sample, oldest first; none where they can't be read."""
    task = fleet.tasks.get(sample.task)
    if task is None:
        return ()
    try:
        page = await read_events(read, sample, task.row.eval_id, tail=LAST_EVENTS, limit=None)
    except EvalroomError:
        return ()
    return page.events[-LAST_EVENTS:]
