"""The bell rings once for new alarms, and not for those that the operator knows."""

from dataclasses import replace

from core.fleet import Fleet
from core.model.finding import Finding
from core.views.findings.alarm_bell import RING_INTERVAL_S, AlarmBell
from tests.support.stalls import stalled_fleet


def other(finding: Finding, name: str) -> Finding:
    return replace(finding, id=name)


def test_it_rings_for_a_new_alarm_once_and_not_twice_in_a_few_seconds() -> None:
    fleet = stalled_fleet()
    [stall] = fleet.findings
    bell = AlarmBell()
    assert not bell.rings(Fleet(), 0.0)
    assert bell.rings(fleet, 1.0)
    assert not bell.rings(fleet, 100.0)
    two = replace(fleet, findings=(other(stall, "b"), stall))
    assert bell.rings(two, 101.0)
    three = replace(two, findings=(other(stall, "c"), *two.findings))
    assert not bell.rings(three, 102.0)
    assert bell.rings(three, 101.0 + RING_INTERVAL_S)


def test_known_muted_and_lesser_findings_are_silent() -> None:
    fleet = stalled_fleet()
    [stall] = fleet.findings
    bell = AlarmBell()
    assert not bell.rings(fleet, 0.0), "it was there at the start"
    quiet = (
        replace(other(stall, "b"), muted_until=fleet.at + 60),
        replace(other(stall, "c"), acknowledged_at=fleet.at),
        replace(other(stall, "d"), severity="suspect"),
        replace(other(stall, "e"), closed_at=fleet.at),
    )
    assert not bell.rings(replace(fleet, findings=(*quiet, stall)), 50.0)
    worse = replace(quiet[2], severity="alarm")
    assert bell.rings(replace(fleet, findings=(worse, stall)), 60.0)
