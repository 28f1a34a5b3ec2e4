"""Every kind of finding obeys one set of rules, whether signs show it or one event does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cli.render.findings import finding_row
from core.desk import health
from core.desk.past import Past, with_past
from core.desk.step import advance
from core.events import LogUnreadable, OrderEnded, OrderGiven, ProcessesCut, RunChanged
from core.finding_events import FindingsAcknowledged, FindingsMuted
from core.fleet import Fleet
from core.judge.finding_list import acknowledged, with_findings
from core.judge.kinds import kind_names
from core.model.action import Action, Verb
from core.model.finding import SEVERITIES, Finding
from core.model.machine import Container, LinkState
from core.model.mute import Mute
from core.model.order import OrderState
from core.model.process import ProcessState
from core.model.run import RunState
from core.views.findings.changes import finding_changes
from core.views.pages.finding_page import finding_page
from storage.past import finding_body, finding_of
from tests.core.judge import test_docker_findings as docker
from tests.core.judge.kinds import (
    test_command,
    test_errors,
    test_gpu_idle,
    test_leftovers,
    test_limit,
    test_loop,
    test_model_server,
    test_money,
    test_outage,
    test_pressure,
    test_refusals,
    test_retries,
    test_retry_storm,
    test_sandbox,
    test_spin_up,
    test_tail,
    test_timeout,
)
from tests.support.fleets import (
    H1,
    NOW,
    judged_after,
    link,
    log_read,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.orders import order
from tests.support.runs import run as made_run
from tests.support.stalls import stalled_fleet

FIELDS = (
    "id", "kind", "severity", "scope", "machine", "pid", "task_id", "sample_id", "epoch", "model",
    "since", "evidence", "cause", "actions", "acknowledged", "muted_until", "closed_at",
)  # fmt: skip
LATER = NOW + 100_000
BEGIN = (named(), link(), process_seen(started_at=NOW - 1), tasks_seen(task_row(done=10)))
ENDED = (*BEGIN, process_gone(at=NOW + 9))
M = 1_000_000


def of_health(found: Finding) -> Fleet:
    return with_findings(judged_after(named()), [found])


def ordered(verb: Verb, state: OrderState) -> Fleet:
    given = order("o1", target=task_key(), action=Action(verb=verb), name="h100-1 ctf")
    ended = OrderEnded(at=NOW + 5, order=given.id, state=state, message="no answer for 30 s")
    return judged_after(*BEGIN, OrderGiven(at=NOW + 4, order=given), ended)


def stopped_box() -> Container:
    return docker.box(2, is_running=False, status="Exited (137) 5 seconds ago")


def a_run_that_failed() -> Fleet:
    started = made_run(1, RunState.STARTING)
    broken = replace(started, state=RunState.ERROR, message="exit status 1")
    events = (RunChanged(at=NOW, run=started), RunChanged(at=NOW + 1, run=broken))
    return judged_after(named(), link(), *events)


MADE: Mapping[str, Callable[[], Fleet]] = {
    "command": lambda: test_command.watched(test_command.BUILD),
    "docker": lambda: docker.watched(
        docker.both(-1),
        docker.read(0, docker.box(1), docker.box(2)),
        *(docker.read(step, docker.box(1), stopped_box()) for step in (1, 2)),
    ),
    "errors": lambda: judged_after(
        tasks_seen(task_row(done=10, errored=1), at=NOW + 5),
        samples_seen(test_errors.errored(7)),
        fleet=test_errors.RUNS,
    ),
    "finished": lambda: judged_after(*ENDED, log_read("error", at=NOW + 10)),
    "gpu-held": lambda: test_gpu_idle.read(
        test_gpu_idle.gpu(test_gpu_idle.OTHER), begin=test_gpu_idle.busy(), minutes=32
    ),
    "gpu-idle": lambda: test_gpu_idle.read(
        test_gpu_idle.gpu(test_gpu_idle.OURS), begin=test_gpu_idle.busy(), minutes=12
    ),
    "headless": lambda: judged_after(*BEGIN, process_seen(state=ProcessState.HEADLESS, at=NOW + 9)),
    "interrupt": lambda: ordered(Verb.INTERRUPT, OrderState.DONE),
    "leftovers": lambda: test_leftovers.polled("completed", 0, 3_700, 3_705),
    "limit": lambda: test_limit.held_for(2_890),
    "limits": lambda: judged_after(named(), ProcessesCut(at=NOW, machine=H1, left_out=1_500)),
    "link": lambda: judged_after(
        *BEGIN, link(LinkState.DOWN, at=NOW + 9, reason="20 s of silence")
    ),
    "log": lambda: judged_after(
        *ENDED,
        LogUnreadable(at=NOW + 10, task=task_key(), reason="64 KiB are missing"),
    ),
    "loop": lambda: test_loop.read(sample(7, turn_count=37)),
    "lost": lambda: judged_after(*ENDED, log_read("started", at=NOW + 10)),
    "milestone": lambda: judged_after(*BEGIN, tasks_seen(task_row(done=25), at=NOW + 5)),
    "model-server": lambda: test_model_server.read(
        *[test_model_server.server(health="refused")] * 2
    ),
    "money": lambda: test_money.watched(
        test_money.rules(task=100), *[5 * M] * 3, total=100, done=5, flying=0
    ),
    "notify": lambda: of_health(
        health.notifying_failed(Fleet(), "The address answers 500. Try another", NOW)
    ),
    "order": lambda: ordered(Verb.PAUSE, OrderState.UNKNOWN),
    "outage": lambda: test_outage.watched([test_outage.RETRY] * 3 + [test_outage.CALL]),
    "pressure": lambda: test_pressure.read([test_pressure.memory(95)] * 2),
    "process": lambda: judged_after(*BEGIN),
    "rate-limit": lambda: test_outage.watched(test_outage.THROTTLED, places=test_outage.PLACES[:2]),
    "refusals": lambda: test_refusals.refused(2, 3, 4),
    "retries": lambda: judged_after(
        samples_seen(sample(1, retries=1), sample(2)), fleet=test_retries.RUNS
    ),
    "retry-storm": lambda: test_retry_storm.storm(test_retry_storm.ONE, 170),
    "run": a_run_that_failed,
    "sandbox": lambda: test_sandbox.ended(test_sandbox.POOLS),
    "spin-up": lambda: test_spin_up.read_for(905),
    "stall": lambda: stalled_fleet(seconds=200),
    "starved": lambda: judged_after(
        *BEGIN, process_seen(state=ProcessState.STARVED, at=NOW + 9, waiting_since=NOW)
    ),
    "storage": lambda: of_health(health.storage_failed(Fleet(), "64 events were lost", NOW)),
    "tail": lambda: test_tail.read_for(3 * test_tail.MEDIAN + 1),
    "timeout": lambda: test_timeout.called(*[60.0] * 6, 20.0),
}
"""A fleet with a finding of each kind."""
by_kind = pytest.mark.parametrize("kind", sorted(MADE))


def made(kind: str) -> tuple[Fleet, Finding]:
    """Return a fleet with a finding of a kind; where several are open, the newest."""
    fleet = MADE[kind]()
    found = [each for each in fleet.findings if each.kind == kind]
    assert found, [each.kind for each in fleet.findings]
    return fleet, next((each for each in found if each.is_open), found[0])


def test_the_table_has_every_kind() -> None:
    assert set(MADE) == set(kind_names())


@by_kind
def test_it_says_how_bad_since_when_with_which_numbers_and_what_closes_it(kind: str) -> None:
    fleet, finding = made(kind)
    assert finding.severity in SEVERITIES
    assert (finding.began_at or finding.opened_at) <= fleet.at
    assert any(letter.isdigit() for letter in finding.text), finding.text
    assert finding.text.isprintable()
    is_milestone = finding.closed_at == finding.opened_at
    assert bool(finding.closes_when) != is_milestone, "what is over needs nothing to close it"
    assert len(finding_page(fleet, finding.id, fleet.at).sections[0].facts) > 5


@by_kind
def test_its_json_has_the_fields_of_every_finding(kind: str) -> None:
    fleet, finding = made(kind)
    row = finding_row(fleet, finding, fleet.at, None)
    assert tuple(row) == FIELDS
    assert json.loads(json.dumps(row)) == row
    assert (row["kind"], row["severity"]) == (kind, finding.severity)
    assert row["evidence"]
    assert all(
        each["action"] and each["command"].startswith("evalroom ") for each in row["actions"]
    )
    with_config = finding_row(fleet, finding, fleet.at, Path("/c.toml"))
    assert all("--config /c.toml" in each["command"] for each in with_config["actions"])


@by_kind
def test_it_is_acknowledged_until_it_worsens(kind: str) -> None:
    fleet, finding = made(kind)
    if not finding.is_open:
        assert not finding.needs_attention(fleet.at)
        return
    assert finding.needs_attention(fleet.at)
    at = fleet.at + 0.1
    seen = advance(fleet, FindingsAcknowledged(at=at, findings=(finding.id,)))
    [now] = [each for each in seen.findings if each.id == finding.id]
    assert not now.needs_attention(at)
    assert now.is_open != finding.is_kept
    if now.is_open and finding.severity != "alarm":
        worse = with_findings(seen, [replace(now, severity="alarm", acknowledged_at=None)])
        assert any(each.id == now.id and each.needs_attention(at) for each in worse.findings)


@by_kind
def test_it_is_muted_by_itself_and_by_its_kind(kind: str) -> None:
    fleet, finding = made(kind)
    for mute in (Mute(until=LATER, finding=finding.id), Mute(until=LATER, kind=kind)):
        assert mute.covers(finding)
        quiet = advance(fleet, FindingsMuted(at=fleet.at, id="m", mute=mute))
        [now] = [each for each in quiet.findings if each.id == finding.id]
        assert now.is_muted(LATER - 1) == finding.is_open
        assert not now.needs_attention(LATER - 1)


@by_kind
def test_it_goes_into_the_history_and_comes_back_after_a_restart(kind: str) -> None:
    fleet, finding = made(kind)
    stored = finding_of(finding_body(finding))
    assert stored is not None
    assert stored == finding
    [change, *_] = finding_changes((), (finding,))
    assert change.word == "opened"
    begun = replace(fleet, findings=(), suspicions={}, at=fleet.at)
    again = with_past(begun, Past(findings=(stored,)))
    comes_back = finding.machine is not None
    assert [each.id for each in again.findings] == [finding.id] * comes_back
    if comes_back:
        assert again.findings[0].is_open == finding.is_open
        assert acknowledged(again.findings[0], LATER).acknowledged_at == LATER


def test_a_finding_never_eases_while_it_is_open() -> None:
    down = judged_after(*BEGIN, link(LinkState.DOWN, at=NOW + 9, reason="no route"))
    asks = judged_after(link(LinkState.NEEDS_YOU, at=NOW + 20, reason="a code"), fleet=down)
    [finding] = [each for each in asks.findings if each.kind == "link"]
    assert (finding.severity, "a code" in finding.text) == ("alarm", True)
