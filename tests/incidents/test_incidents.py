"""Each recorded incident: what it must show is found in time, and nothing else is."""

from collections.abc import Sequence

import pytest

from core.events import Event
from tests.bench.judging import ranges
from tests.support.incidents import (
    FOLDER,
    Expected,
    Incident,
    Judged,
    Seen,
    all_incidents,
    deadline,
    judged,
)

pytestmark = pytest.mark.pure
INCIDENTS = all_incidents()
by_name = pytest.mark.parametrize("incident", INCIDENTS, ids=[each.name for each in INCIDENTS])


@by_name
def test_all_is_found_in_time_and_nothing_else(incident: Incident) -> None:
    events = incident.events()
    found = judged(events, incident.rules)

    troubles = [
        trouble
        for expected in incident.expected
        for trouble in _troubles(expected, found, incident, events)
    ]
    troubles += [
        f"false: {_words(seen, events)}"
        for seen in found.seen
        if not any(expected.fits(seen) for expected in incident.expected)
    ]

    assert not troubles, "\n".join(troubles)


@by_name
def test_the_same_recording_is_judged_the_same_each_time(incident: Incident) -> None:
    events = incident.events()

    once, again = (judged(events, incident.rules) for _ in range(2))

    assert once.seen == again.seen
    assert once.last.findings == again.last.findings


def test_ranges_of_time_left_hold_the_truth_and_are_narrow_for_a_steady_task() -> None:
    held, widest = ranges()

    assert held.value >= 80, held
    assert 1 <= widest.value < 3, widest


def test_the_library_is_whole() -> None:
    files = {path.name.partition(".")[0] for path in FOLDER.glob("*.jsonl.gz")}

    assert {each.name for each in INCIDENTS} == files
    assert sum(path.stat().st_size for path in FOLDER.glob("*.jsonl.gz")) < 6_000_000


def _troubles(
    expected: Expected, found: Judged, incident: Incident, events: Sequence[Event]
) -> list[str]:
    fits = [seen for seen in found.seen if expected.fits(seen)]
    if len(fits) != expected.times:
        return [f"found {len(fits)} times: {expected}"]
    first = events[0].at
    due = deadline(events, incident, expected)
    late = [
        f"late (due {due - first:.1f}): {_words(each, events)}" for each in fits if each.at > due
    ]
    last = {each.id: each for each in found.last.findings}
    late += [
        f"its cause is {last[each.finding.id].cause!r}: {_words(each, events)}"
        for each in fits
        if expected.cause not in last[each.finding.id].cause
    ]
    if expected.closes is not None:
        late += [
            f"closed is not {expected.closes}: {_words(each, events)}"
            for each in fits
            if last[each.finding.id].is_open is expected.closes
        ]
    return late


def _words(seen: Seen, events: Sequence[Event]) -> str:
    about = seen.finding.sample or seen.finding.task or seen.finding.process or ""
    at = seen.at - events[0].at
    return f"{at:.1f} s {seen.finding.kind} {seen.severity}: {seen.finding.text} {about}"
