"""A sample whose tool hangs, for tests of findings."""

from core.fleet import Fleet
from core.model.sample import Activity, Sample
from tests.support.fleets import (
    NOW,
    judged_after,
    link,
    named,
    process_seen,
    sample,
    samples_seen,
    task_row,
    tasks_seen,
)


def hanging(number: int = 1) -> Sample:
    """A sample that calls bash since `NOW`."""
    return sample(number, activity=Activity(type="tool", started_at=NOW, detail="bash"))


def stalled_fleet(*, seconds: float = 700, fleet: Fleet | None = None) -> Fleet:
    """A fleet in which a tool has run so long: an alarm from 600 s, suspect from 120 s."""
    events = (
        named(), link(), process_seen(), tasks_seen(task_row(model="acme/m", flying=1)),
        samples_seen(hanging(), at=NOW + seconds - 50), samples_seen(hanging(), at=NOW + seconds),
    )  # fmt: skip
    return judged_after(*events, fleet=fleet)
