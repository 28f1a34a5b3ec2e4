"""Two rooms find the same: one of them takes over the id of the other."""

from dataclasses import replace

import pytest

from core.desk.step import advance
from core.finding_events import FindingsAcknowledged, FindingsMerged, FindingsMuted, SameFinding
from core.fleet import Fleet
from core.model.finding import Finding, occurrence_id
from core.model.mute import Mute
from core.views.findings.alarm_bell import AlarmBell
from core.views.findings.changes import finding_changes
from tests.support.fleets import NOW, samples_seen
from tests.support.stalls import hanging, stalled_fleet

OTHER = "stall:of another room:1.000"


def only(fleet: Fleet) -> Finding:
    [found] = [each for each in fleet.findings if each.kind == "stall"]
    return found


def merged(fleet: Fleet) -> Fleet:
    same = SameFinding(own=only(fleet).id, id=OTHER, opened_at=NOW + 1)
    return advance(fleet, FindingsMerged(at=NOW + 205, same=(same,)))


def test_a_merged_finding_goes_on_under_the_id_of_the_other_room() -> None:
    fleet = merged(stalled_fleet(seconds=200))
    assert (only(fleet).id, only(fleet).opened_at) == (OTHER, NOW + 1)
    worse = only(advance(fleet, samples_seen(hanging(), at=NOW + 700)))
    assert (worse.id, worse.severity, worse.is_open) == (OTHER, "alarm", True)


def test_acknowledgements_and_mutes_reach_it_by_either_id() -> None:
    before = stalled_fleet(seconds=200)
    mine = Mute(until=NOW + 900, finding=only(before).id)
    muted = merged(advance(before, FindingsMuted(at=NOW + 201, id="a", mute=mine)))
    assert only(muted).muted_until == NOW + 900
    theirs = Mute(until=NOW + 950, finding=OTHER)
    other = merged(advance(before, FindingsMuted(at=NOW + 201, id="b", mute=theirs)))
    assert only(other).muted_until == NOW + 950
    seen = advance(merged(before), FindingsAcknowledged(at=NOW + 210, findings=(OTHER,)))
    assert only(seen).acknowledged_at == NOW + 210


def test_a_finding_that_is_not_there_is_not_merged() -> None:
    fleet = stalled_fleet()
    same = SameFinding(own="gone", id=OTHER, opened_at=NOW)
    assert merged_findings(fleet, same) == fleet.findings


def merged_findings(fleet: Fleet, same: SameFinding) -> tuple[Finding, ...]:
    return advance(fleet, FindingsMerged(at=fleet.at, same=(same,))).findings


@pytest.mark.parametrize("is_open", [True, False], ids=["open there", "closed there"])
def test_an_older_version_under_the_same_id_is_replaced(*, is_open: bool) -> None:
    fleet = stalled_fleet()
    older = replace(only(fleet), id=OTHER, closed_at=None if is_open else NOW)
    fleet = replace(fleet, findings=(*fleet.findings, older))
    own = next(each.id for each in fleet.findings if each.id != OTHER)
    [left] = merged_findings(fleet, SameFinding(own=own, id=OTHER, opened_at=NOW))
    assert (left.id, left.is_open) == (OTHER, True)


def test_a_new_id_is_not_news_and_rings_no_bell() -> None:
    own = occurrence_id("pressure:h100-1:memory", NOW)
    alarm = Finding(
        id=own, kind="pressure", severity="alarm", opened_at=NOW, machine=None, text="full"
    )
    before = Fleet(at=NOW, findings=(alarm,))
    id_there = occurrence_id("pressure:h100-1:memory", NOW - 2)
    same = SameFinding(own=own, id=id_there, opened_at=NOW - 2)
    now = advance(before, FindingsMerged(at=NOW + 1, same=(same,)))
    assert [each.id for each in now.findings] == [id_there]
    assert list(finding_changes(before.findings, now.findings)) == []
    bell = AlarmBell()
    assert [bell.rings(each, 0.0) for each in (before, now)] == [False, False]
