"""Which findings are told, to whom, and when."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.config.notify import NotifyRule, QuietHours
from core.fleet import Fleet
from core.ids import SampleKey
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.notify.message import message_of
from core.notify.outbox import GATHER_S, Outbox
from tests.support.fleets import H1, H2, NOW, fleet_after, named, running_fleet, task_key

RULE = NotifyRule(secret="CHAT", every=60)
SECRET_WORDS = "rm -rf / said the agent"
LATER = NOW + GATHER_S


def finding(name: str = "a", **more: Any) -> Finding:
    given: dict[str, Any] = {
        "id": name, "kind": "stall", "severity": "alarm", "opened_at": NOW, "machine": H1,
        "text": SECRET_WORDS, "cause": SECRET_WORDS, "task": task_key(),
        "sample": SampleKey(task_key(), 1, 1), **more,
    }  # fmt: skip
    return Finding(**given)


def fleet_with(*findings: Finding, on: Fleet | None = None) -> Fleet:
    return with_findings(running_fleet() if on is None else on, findings)


def told(box: Outbox, fleet: Fleet, at: float, minute: int = 720) -> list[str]:
    """Send what is due; return the ids of the findings."""
    ids: list[str] = []
    for index, findings in box.due(fleet, at, minute):
        box.note_sent(index, findings, at)
        ids += [each.id for each in findings]
    return ids


def box_of(*rules: NotifyRule, before: Sequence[Finding] = ()) -> Outbox:
    return Outbox(rules or (RULE,), before)


def test_a_finding_is_told_once_after_others_had_time_to_join() -> None:
    box, fleet = box_of(), fleet_with(finding())
    assert told(box, fleet, NOW) == []
    fleet = fleet_with(finding("b", opened_at=NOW + 5), on=fleet)
    assert sorted(told(box, fleet, LATER)) == ["a", "b"]
    assert told(box, fleet, LATER + 1_000) == []


def test_a_storm_is_a_digest_and_then_silence() -> None:
    box, fleet = box_of(), fleet_with(finding("first"))
    told(box, fleet, NOW)
    assert told(box, fleet, LATER) == ["first"]
    storm = [finding(f"s{n}", opened_at=LATER + n) for n in range(50)]
    fleet = fleet_with(*storm, on=fleet)
    assert told(box, fleet, LATER + 1) == []
    assert told(box, fleet, LATER + 59) == []
    assert len(told(box, fleet, LATER + 61)) == 50
    message = message_of(fleet, storm, LATER)
    assert message.title == "evalroom: 50 findings (50 stall)"
    assert "and 40 more" in message.body


def test_what_worsens_is_told_again() -> None:
    box = box_of(replace(RULE, severity="suspect"))
    suspect = finding(severity="suspect")
    fleet = fleet_with(suspect)
    told(box, fleet, NOW)
    assert told(box, fleet, LATER) == ["a"]
    fleet = fleet_with(replace(suspect, severity="alarm"), on=fleet)
    told(box, fleet, LATER + 100)
    assert told(box, fleet, LATER + 120) == ["a"]


@pytest.mark.parametrize(
    "silent",
    [
        pytest.param(finding(closed_at=NOW + 1), id="closed"),
        pytest.param(finding(acknowledged_at=NOW), id="acknowledged"),
        pytest.param(finding(muted_until=NOW + 9_000), id="muted"),
        pytest.param(finding(severity="suspect"), id="not severe enough"),
    ],
)
def test_these_are_not_told(silent: Finding) -> None:
    box, fleet = box_of(), fleet_with(silent)
    told(box, fleet, NOW)
    assert told(box, fleet, LATER) == []


def test_what_was_found_before_is_told_only_when_it_worsens() -> None:
    rule, old = replace(RULE, severity="suspect"), finding(severity="suspect")
    box, fleet = box_of(rule, before=[old]), fleet_with(old)
    told(box, fleet, NOW)
    assert told(box, fleet, LATER) == []
    fleet = fleet_with(replace(old, severity="alarm"), on=fleet)
    told(box, fleet, LATER)
    assert told(box, fleet, LATER + GATHER_S) == ["a"]


def test_a_milestone_is_told_to_who_asks_for_notices() -> None:
    ended = finding(kind="finished", severity="notice", closed_at=NOW)
    box = box_of(RULE, NotifyRule(secret="ALL", severity="notice", kinds=("finished",)))
    told(box, fleet_with(ended), NOW)
    assert [index for index, _ in box.due(fleet_with(ended), LATER, 0)] == [1]


@pytest.mark.parametrize(
    ("rule", "ids"),
    [
        (replace(RULE, kinds=("disk",)), ["disk"]),
        (replace(RULE, machines=("h100-2",)), ["other"]),
        (replace(RULE, tags=("prod",)), ["a", "disk"]),
        (replace(RULE, tags=("prod",), kinds=("stall",)), ["a"]),
    ],
)
def test_a_rule_chooses(rule: NotifyRule, ids: Sequence[str]) -> None:
    fleet = fleet_after(replace(named(), tags=("prod",)), named(H2), fleet=running_fleet())
    fleet = fleet_with(
        finding(), finding("disk", kind="disk"), finding("other", machine=H2), on=fleet
    )
    box = box_of(rule)
    told(box, fleet, NOW)
    assert sorted(told(box, fleet, LATER)) == sorted(ids)


def test_quiet_hours_keep_it_and_what_is_over_by_then_is_not_told() -> None:
    night = replace(RULE, quiet=QuietHours(22 * 60, 7 * 60))
    box = box_of(night)
    stays, ends = finding("stays"), finding("ends")
    fleet = fleet_with(stays, ends)
    for minute in (22 * 60, 0, 7 * 60 - 1):
        told(box, fleet, NOW, minute)
        assert told(box, fleet, LATER + minute, minute) == []
    fleet = fleet_with(replace(ends, closed_at=NOW + 1), on=fleet)
    assert told(box, fleet, LATER + 9_000, 7 * 60) == ["stays"]


def test_a_message_that_failed_is_tried_again_later() -> None:
    box, fleet = box_of(), fleet_with(finding())
    told(box, fleet, NOW)
    [(index, _)] = box.due(fleet, LATER, 0)
    box.note_failed(index, LATER)
    assert told(box, fleet, LATER + 30) == []
    assert told(box, fleet, LATER + 61) == ["a"]


def test_a_message_holds_no_word_of_an_agent() -> None:
    fleet = fleet_with(finding())
    for findings in ([finding()], [finding(), finding("b")]):
        message = message_of(fleet, findings, NOW + 60)
        assert SECRET_WORDS not in message.title + message.body
        assert "gdm_intercode_ctf 1/1" in message.title + message.body
    assert message_of(fleet, [finding()], NOW).body.endswith("evalroom why 'h100-1:t1#1/1'")
