"""What the operator acknowledged or muted: it no longer counts, until it worsens or time is up."""

from dataclasses import replace

import pytest

from core.desk.past import Past, with_past
from core.desk.step import advance
from core.finding_events import FindingsAcknowledged, FindingsMuted
from core.fleet import Fleet
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.model.mute import Mute
from core.views.findings.mute_choices import breadths
from core.views.header.totals import header_totals, title
from tests.support.fleets import NOW, judged_after, link, named, samples_seen, task_key
from tests.support.stalls import hanging, stalled_fleet

KEY = task_key()


def muted(mute: Mute, *, at: float = NOW + 700) -> FindingsMuted:
    return FindingsMuted(at=at, id=f"m{at}", mute=mute)


def only(fleet: Fleet) -> Finding:
    [found] = [each for each in fleet.findings if each.kind == "stall"]
    return found


def header(fleet: Fleet) -> str:
    return "".join(span.text for group in header_totals(fleet, fleet.at) for span in group)


def test_an_acknowledged_finding_stays_open_and_no_longer_counts_until_it_worsens() -> None:
    fleet = stalled_fleet(seconds=200)
    assert only(fleet).severity == "suspect"
    assert "1 suspect" in header(fleet)
    seen = advance(fleet, FindingsAcknowledged(at=NOW + 210, findings=(only(fleet).id,)))
    assert only(seen).is_open
    assert only(seen).acknowledged_at == NOW + 210
    assert "suspect" not in header(seen)
    later = advance(seen, samples_seen(hanging(), at=NOW + 400))
    assert only(later).acknowledged_at == NOW + 210, "it says more, but is not worse"
    worse = advance(later, samples_seen(hanging(), at=NOW + 700))
    assert only(worse).severity == "alarm"
    assert only(worse).acknowledged_at is None
    assert "1 alarm" in header(worse)


def test_a_finding_that_its_rule_makes_anew_stays_acknowledged() -> None:
    fleet = stalled_fleet()
    seen = advance(fleet, FindingsAcknowledged(at=NOW + 710, findings=(only(fleet).id,)))
    anew = replace(only(fleet), text="with other words", changed_at=NOW + 720)
    assert only(with_findings(seen, [anew])).acknowledged_at == NOW + 710
    over = with_findings(seen, [replace(only(seen), closed_at=NOW + 730)])
    again = with_findings(over, [replace(only(over), closed_at=None)])
    assert only(again).acknowledged_at is None, "it is news that it opened again"


@pytest.mark.parametrize(
    "mute",
    [
        Mute(until=NOW + 5_000, kind="stall"),
        Mute(until=NOW + 5_000, task=KEY),
        Mute(until=NOW + 5_000, kind="stall", task=KEY),
    ],
)
def test_a_mute_of_a_kind_or_a_task_also_mutes_what_opens_later(mute: Mute) -> None:
    before = judged_after(named(), link(), muted(mute, at=NOW))
    fleet = stalled_fleet(fleet=before)
    assert only(fleet).muted_until == NOW + 5_000
    assert "alarm" not in header(fleet)
    assert "alarm" not in title(fleet)
    assert only(fleet).needs_attention(NOW + 5_001)


def test_a_mute_of_another_kind_task_or_finding_mutes_nothing() -> None:
    others = (
        Mute(until=NOW + 5_000, kind="disk"),
        Mute(until=NOW + 5_000, kind="stall", task=task_key("t9")),
        Mute(until=NOW + 5_000, finding="other"),
        Mute(until=NOW + 5_000),
    )
    fleet = judged_after(*(muted(each) for each in others), fleet=stalled_fleet())
    assert only(fleet).muted_until is None


def test_a_mute_ends_when_the_operator_ends_it() -> None:
    fleet = stalled_fleet()
    fleet = advance(fleet, muted(Mute(until=NOW + 5_000, finding=only(fleet).id)))
    fleet = advance(fleet, muted(Mute(until=NOW + 9_000, kind="stall"), at=NOW + 701))
    assert only(fleet).muted_until == NOW + 9_000
    end, *_ = breadths(fleet, only(fleet), NOW + 702)
    assert len(end.ends) == 2
    ended = judged_after(
        *(muted(each.lasting(NOW + 702), at=NOW + 702) for each in end.ends), fleet=fleet
    )
    assert only(ended).muted_until is None
    assert ended.mutes == ()


def test_mutes_and_acknowledgements_outlive_a_restart() -> None:
    fleet = stalled_fleet()
    event = muted(Mute(until=NOW + 5_000, kind="stall"))
    fleet = advance(advance(fleet, event), FindingsAcknowledged(at=NOW + 710, findings=("x",)))
    kept = replace(only(fleet), acknowledged_at=NOW + 710)
    open_again = stalled_fleet(seconds=300)
    past = Past(findings=(kept,), mutes=(event,))
    restored = with_past(replace(open_again, findings=(), at=NOW + 800), past)
    assert restored.mutes == (event.mute,)
    assert only(restored).muted_until == NOW + 5_000
    assert only(restored).acknowledged_at == NOW + 710
    later = advance(restored, samples_seen(hanging(), hanging(2), at=NOW + 900))
    later = advance(later, samples_seen(hanging(), hanging(2), at=NOW + 910))
    found = [each for each in later.findings if each.kind == "stall"]
    assert len(found) == 2
    assert all(each.is_muted(NOW + 911) for each in found)


def test_the_choices_name_the_finding_its_task_and_its_kind() -> None:
    fleet = stalled_fleet()
    titles = [each.title for each in breadths(fleet, only(fleet), NOW)]
    assert titles == [
        "this finding",
        'findings "stall" of task gdm_intercode_ctf',
        "all findings of task gdm_intercode_ctf",
        'all findings "stall"',
    ]
