"""A process whose event loop stays blocked becomes an alarm."""

from core.desk.step import advance
from core.events import TimePassed
from core.model.finding import Finding
from core.model.process import ProcessState
from tests.support.fleets import NOW, judged_after, link, named, process_seen


def test_a_process_that_stays_blocked_is_an_alarm_with_its_remedy() -> None:
    starved = process_seen(state=ProcessState.STARVED, at=NOW + 10)
    fleet = judged_after(named(), link(), process_seen(), starved)

    def found() -> Finding:
        [one] = [each for each in fleet.findings if each.kind == "starved"]
        return one

    assert (found().severity, found().closes_when) == ("suspect", "it answers again, or ends")
    fleet = advance(fleet, TimePassed(at=NOW + 600))
    assert found().severity == "suspect"
    fleet = advance(fleet, TimePassed(at=NOW + 620))
    assert found().severity == "alarm"
    assert [each.action for each in found().proposals] == ["interrupt"]
    again = found()
    fleet = advance(fleet, TimePassed(at=NOW + 680))
    assert found() == again, "it is told once"
    fleet = advance(fleet, process_seen(at=NOW + 700))
    assert not found().is_open
