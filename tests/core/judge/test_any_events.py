"""Judging whatever machines send, by whatever numbers."""

import unicodedata
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cli.render.findings import finding_cells, finding_row
from core.config.judge import JudgeConfig, Price
from core.desk.step import advance
from core.events import Event, LogRead, OperationsSeen, ReadsUnchanged
from core.fleet import Fleet
from core.fold.fold import fold
from core.ids import SampleKey
from core.judge.finding_list import MAX_FINDINGS
from core.judge.kinds import all_kinds, all_rules, kind_names
from core.judge.sign import MAX_SIGNS
from core.model.log_summary import LogHeader
from core.model.machine import Disk, Memory
from core.model.sample import Activity
from core.views.triage.lines import triage_lines
from core.views.triage.report import triage
from core.views.triage.why import why, why_lines
from tests.support.events import any_event
from tests.support.fleets import (
    NOW,
    facts,
    link,
    process_key,
    running_fleet,
    samples_seen,
    task_key,
    tasks_seen,
)
from tests.support.model_values import facts as any_facts
from tests.support.model_values import (
    log_samples,
    maybe,
    operations,
    samples,
    task_rows,
    texts,
    tuples,
)

RULES = st.builds(
    JudgeConfig,
    values=st.fixed_dictionaries(
        {rule.path: st.sampled_from([rule.low, rule.default, rule.high]) for rule in all_rules()}
    ),
    budgets=st.just({"m": 1}),
    prices=st.just({"m": Price(into=0.0, out=1e6)}),
)


def _what_was_folded(fleet: Fleet) -> str:
    plain = replace(
        fleet, findings=(), suspicions={}, judged_at=0.0, quiet_until={}, usual_calls={}, mutes=()
    )
    return repr(plain)


def _again_and_again(events: list[Any]) -> list[Event]:
    """Return the events as four readings, ten seconds apart: what lasts opens findings."""
    return [replace(each, at=each.at + 10 * look) for look in range(4) for each in events]


_times = st.sampled_from(
    [NOW, NOW - 40, NOW - 700, NOW - 9e4, NOW + 1e6, 0.0, -5.0, 1e308, -1e308]
) | st.floats(allow_nan=True, allow_infinity=True)
_activities = st.builds(
    Activity,
    type=st.sampled_from(["model", "tool", "retry_wait", "approval"]) | texts,
    count=st.integers(-1, 10**25),
    started_at=maybe(_times),
    detail=st.sampled_from(["m", "bash"]) | texts,
    deadline=maybe(_times),
)
_samples: st.SearchStrategy[Any] = st.builds(
    replace,
    samples,
    status=st.sampled_from(["running", "running", "completed", "error"]),
    started_at=maybe(_times),
    last_activity_at=maybe(_times),
    activity=maybe(_activities),
)
_rows: st.SearchStrategy[Any] = st.builds(
    replace,
    task_rows,
    task_id=st.just("t1"),
    eval_id=st.just("e1"),
    model=st.just("m"),
    status=st.just("running"),
    started_at=maybe(_times),
)
_sizes = st.sampled_from([None, 0, 1, -1, 10**9, 10**12, 10**25])
_facts: st.SearchStrategy[Any] = st.builds(
    replace,
    any_facts,
    cpus=maybe(st.sampled_from([0.0, 0.5, 8.0])),
    memory=st.builds(Memory, total=_sizes, available=_sizes),
    disks=tuples(
        st.builds(Disk, path=texts, what=st.just("logs") | texts, total=_sizes, free=_sizes)
    ),
)


@st.composite
def _readings(draw: st.DrawFn) -> list[Event]:
    """Draw what one eval answers in four readings; the desk's clock may be set back between."""
    row, rows = draw(_rows), draw(st.lists(_samples, max_size=5))
    running = draw(st.lists(operations, max_size=2))
    read, logged = draw(_facts), draw(log_samples())
    steps = draw(st.lists(st.sampled_from([15.0, 900.0, -5e5, 1e9]), min_size=4, max_size=4))
    events, at = list[Event](), NOW
    for step in steps:
        at += step
        as_of = draw(_times | st.just(at))
        seen = samples_seen(*rows, at=at, eval_id="e1", as_of=as_of)
        header = LogHeader(location="/a.eval", status="started", eval_id="e1")
        events += [
            replace(facts(), at=at, facts=replace(read, at=as_of)),
            tasks_seen(row, at=at),
            seen,
            OperationsSeen(at=at, process=process_key(), operations=tuple(running)),
            ReadsUnchanged(
                at=at + 6,
                machine=process_key().machine,
                tasks=((process_key(), at + 6),),
                samples=((task_key(), at + 6),),
            ),
            LogRead(at=at + 7, task=task_key(), header=header, samples=logged, trouble=""),
            link(at=at + 8),
        ]
    return events


@given(st.lists(any_event(), max_size=8).map(_again_and_again) | _readings(), RULES)
@settings(max_examples=60)
def test_whatever_machines_send_is_judged(events: list[Event], rules: JudgeConfig) -> None:
    start = running_fleet()
    judged = again = folded = start
    for event in events:
        judged, folded = advance(judged, event, rules), fold(folded, event)
        again = advance(again, event, rules)
    assert len(judged.findings) <= MAX_FINDINGS
    assert {each.kind for each in judged.findings} <= set(kind_names())
    assert len({each.id for each in judged.findings}) == len(judged.findings)
    subjects = len(judged.machines) + len(judged.processes) + len(judged.tasks) + 1
    assert len(judged.suspicions) <= len(all_kinds()) * subjects
    assert all(len(each) <= 2 * MAX_SIGNS for each in judged.suspicions.values())
    assert repr(again.findings) == repr(judged.findings)
    assert _what_was_folded(judged) == _what_was_folded(folded)


@given(_readings(), RULES)
@settings(max_examples=60)
def test_whatever_machines_send_is_reported(events: list[Event], rules: JudgeConfig) -> None:
    fleet = running_fleet()
    for event in events:
        fleet = advance(fleet, event, rules)
    lines = triage_lines(fleet, triage(fleet, None, rules, fleet.at))
    lines += why_lines(why(fleet, process_key(), rules, fleet.at))
    for sample_id, epoch in fleet.tasks[task_key()].samples:
        key = SampleKey(task_key(), sample_id, epoch)
        lines += why_lines(why(fleet, key, rules, fleet.at))
    said: list[str] = [span.text for line in lines for span in line]
    for finding in fleet.findings:
        said += finding_cells(fleet, finding, fleet.at)
        assert finding_row(fleet, finding, fleet.at, None)
    bad = {"Cc", "Cs", "Zl", "Zp"}
    assert [each for each in said if bad & set(map(unicodedata.category, each))] == []
    assert max(map(len, said)) <= 1_000
