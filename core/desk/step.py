"""One step of a room: fold an event in, then judge the fleet. Pure."""

from core.config.judge import JudgeConfig
from core.events import Event
from core.finding_events import FindingsMerged, FindingsMuted
from core.fleet import Fleet
from core.fold.fold import fold
from core.judge.finding_list import with_findings
from core.judge.judge import judge
from core.judge.mutes import with_mutes
from core.judge.suspicions import judge_signs

USUAL_RULES = JudgeConfig()


def advance(fleet: Fleet, event: Event, rules: JudgeConfig = USUAL_RULES) -> Fleet:
    """Return the fleet after `event`, with its new findings.

    Args:
        fleet: The fleet before the event.
        event: The event.
        rules: The numbers by which findings are judged.
    """
    after = fold(fleet, event)
    after = with_findings(after, judge(fleet, after, event))
    after = judge_signs(after, event, rules)
    is_about_mutes = isinstance(event, FindingsMuted | FindingsMerged)
    if is_about_mutes or (after.mutes and after.findings is not fleet.findings):
        return with_mutes(after)
    return after
