"""A stall: what counts as one, from when, and what never does."""

from dataclasses import replace
from typing import Any

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event, OperationsSeen, ReadsUnchanged
from core.fleet import Fleet
from core.model.finding import Finding
from core.model.machine import LinkState
from core.model.operation import Operation
from core.model.process import ProcessState
from core.model.sample import Activity, Sample
from tests.support.fleets import (
    H1,
    NOW,
    judged_after,
    link,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

TOOL = Activity(type="tool", started_at=NOW, detail="bash")
MODEL = Activity(type="model", started_at=NOW, detail="acme/sec-agent")
STARVED = process_seen(state=ProcessState.STARVED)
THINKING = ("inspect", "eval", "--reasoning-effort=high")
BEGIN: tuple[Event, ...] = (named(), link(), process_seen(), tasks_seen(task_row(model="acme/m")))


def doing(activity: Activity | None, number: int = 1, **more: Any) -> Sample:
    return replace(
        sample(number, started_at=NOW - 5, last_activity_at=NOW), activity=activity, **more
    )


def read_at(*seconds: float, rows: tuple[Sample, ...], begin: tuple[Event, ...] = BEGIN) -> Fleet:
    """Return the fleet after these rows were read at these seconds."""
    events = [samples_seen(*rows, at=NOW + each) for each in seconds]
    return judged_after(*begin, *events)


def stalls(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "stall" and each.is_open]


@pytest.mark.parametrize(
    ("activity", "suspect", "alarm", "begin"),
    [
        pytest.param(MODEL, 30, 120, BEGIN, id="generation"),
        pytest.param(TOOL, 120, 600, BEGIN, id="tool"),
        pytest.param(
            MODEL,
            120,
            600,
            (
                *BEGIN[:2],
                process_seen(argv=THINKING),
                BEGIN[3],
            ),
            id="told to think",
        ),
        pytest.param(
            MODEL, 120, 600, (*BEGIN[:3], tasks_seen(task_row(model="openai/o3"))), id="thinks"
        ),
    ],
)
def test_a_stall_is_suspect_then_an_alarm(
    activity: Activity, suspect: float, alarm: float, begin: tuple[Event, ...]
) -> None:
    rows = (doing(activity),)
    assert stalls(read_at(1, suspect - 1, rows=rows, begin=begin)) == []
    [found] = stalls(read_at(1, suspect - 1, suspect + 1, rows=rows, begin=begin))
    assert (found.severity, found.began_at) == ("suspect", NOW)
    assert found.sample is not None
    assert found.sample.sample_id == 1
    fleet = read_at(1, suspect - 1, suspect + 1, alarm + 1, rows=rows, begin=begin)
    [worse] = stalls(fleet)
    assert (worse.id, worse.severity) == (found.id, "alarm")


def test_an_unchanged_look_is_a_reading_too() -> None:
    fleet = read_at(1, 100, rows=(doing(TOOL),))
    at = NOW + 125
    fleet = advance(fleet, ReadsUnchanged(at=at, machine=H1, samples=((task_key(), at),)))
    [found] = stalls(fleet)
    assert found.text == (
        "bash has run for over 2m (suspect from 2m, alarm from 10m). Cancel the tool call, so that"
        " the sample goes on"
    )
    assert found.proposals[0].action == "cancel-call"


def test_the_first_look_after_a_start_needs_a_second_one() -> None:
    rows = (doing(TOOL),)
    assert stalls(read_at(500, rows=rows)) == []
    assert len(stalls(read_at(500, 501, rows=rows))) == 1


def test_it_closes_when_the_sample_goes_on_or_ends() -> None:
    for after in (doing(replace(TOOL, started_at=NOW + 130)), sample(1, status="completed")):
        fleet = read_at(1, 100, 125, rows=(doing(TOOL),))
        fleet = advance(fleet, samples_seen(after, at=NOW + 131))
        assert stalls(fleet) == []
        assert [each.kind for each in fleet.findings if each.closed_at] == ["stall"]


def test_it_closes_when_its_eval_ends_between_two_looks() -> None:
    fleet = read_at(1, 100, 125, rows=(doing(TOOL),))
    fleet = advance(fleet, process_gone(at=NOW + 126))
    assert stalls(fleet) == []


def test_a_command_in_a_sandbox_has_more_time() -> None:
    command = Operation(
        action="Subprocess", what="docker exec", words="pytest", since=NOW,
        task="gdm_intercode_ctf", sample=(1, 1),
    )  # fmt: skip
    fleet = judged_after(*BEGIN, samples_seen(doing(TOOL)))
    fleet = advance(fleet, OperationsSeen(at=NOW, process=process_key(), operations=(command,)))
    for seconds in (100, 200, 290):
        row = tasks_seen(task_row(model="acme/m"), at=NOW + seconds)
        fleet = advance(fleet, row)
        fleet = advance(fleet, samples_seen(doing(TOOL), at=NOW + seconds))
    assert stalls(fleet) == []
    fleet = advance(fleet, tasks_seen(task_row(model="acme/m"), at=NOW + 310))
    fleet = advance(fleet, samples_seen(doing(TOOL), at=NOW + 310))
    [found] = stalls(fleet)
    assert found.text.startswith("docker exec pytest has run for over 5m")


def test_what_usually_takes_long_is_not_a_stall() -> None:
    """Calls that took ten minutes, one after the other, move the bounds."""
    fleet = judged_after(*BEGIN)
    for turn in range(12):
        row = doing(replace(TOOL, started_at=NOW + 600 * turn))
        for seconds in (1, 590):
            fleet = advance(fleet, samples_seen(row, at=NOW + 600 * turn + seconds))
    last = NOW + 600 * 11
    closed = [each for each in fleet.findings if each.kind == "stall"]
    for seconds in (100, 300, 800):
        row = doing(replace(TOOL, started_at=last))
        fleet = advance(fleet, samples_seen(row, at=last + seconds))
    assert stalls(fleet) == []
    assert [each for each in fleet.findings if each.kind == "stall"] == closed
    for seconds in (910, 920):
        row = doing(replace(TOOL, started_at=last))
        fleet = advance(fleet, samples_seen(row, at=last + seconds))
    assert len(stalls(fleet)) == 1


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(doing(None, status="pending"), id="pending"),
        pytest.param(doing(None, status="queued"), id="queued"),
        pytest.param(doing(Activity(type="retry_wait", started_at=NOW)), id="retry"),
        pytest.param(doing(Activity(type="approval", started_at=NOW)), id="approval"),
        pytest.param(doing(TOOL, interrupt="cancel"), id="a cancel is on its way"),
    ],
)
def test_a_sample_that_waits_never_stalls(row: Sample) -> None:
    assert stalls(read_at(1, 500, 5_000, rows=(row,))) == []


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param((*BEGIN[:3], tasks_seen(task_row(paused_now=("task",)))), id="held"),
        pytest.param(
            (*BEGIN[:2], process_seen(state=ProcessState.STARVED), BEGIN[3]), id="starved"
        ),
        pytest.param((BEGIN[0], link(LinkState.DOWN), *BEGIN[2:]), id="link down"),
    ],
)
def test_what_is_not_known_is_not_judged(begin: tuple[Event, ...]) -> None:
    assert stalls(read_at(1, 500, 5_000, rows=(doing(TOOL),), begin=begin)) == []


def test_hours_without_a_reading_are_no_stall() -> None:
    """A link that was cut and a laptop that slept: nothing was read, so nothing has lasted."""
    fleet = read_at(1, 2, rows=(doing(TOOL),))
    fleet = advance(fleet, link(LinkState.DOWN, at=NOW + 10))
    fleet = advance(fleet, link(at=NOW + 8 * 3_600))
    assert stalls(fleet) == []


def test_clocks_two_hours_apart_show_nothing_false() -> None:
    rows = (doing(replace(TOOL, started_at=NOW + 7_200)),)
    events = [samples_seen(*rows, at=NOW + each, as_of=NOW + 7_200 + each) for each in (1, 60)]
    assert stalls(judged_after(*BEGIN, *events)) == []


def test_the_config_sets_the_bounds() -> None:
    rules = JudgeConfig(values={"stall.tool.suspect": 5.0})
    fleet = judged_after(*BEGIN)
    for seconds in (4, 6):
        fleet = advance(fleet, samples_seen(doing(TOOL), at=NOW + seconds), rules)
    assert len(stalls(fleet)) == 1


def test_bounds_of_zero_are_bounds() -> None:
    rules = JudgeConfig(values={"stall.tool.suspect": 0.0, "stall.tool.alarm": 0.0})
    fleet = judged_after(*BEGIN)
    for seconds in (1, 1_000_000):
        fleet = advance(fleet, samples_seen(doing(TOOL), at=NOW + seconds), rules)
    assert [each.severity for each in stalls(fleet)] == ["alarm"]


def test_hours_without_a_reading_do_not_move_the_bounds() -> None:
    """Calls that ended while the desk slept took some minutes, not hours."""
    fleet = judged_after(*BEGIN)
    first = [doing(TOOL, number) for number in range(20)]
    fleet = advance(fleet, samples_seen(*first, at=NOW + 1))
    later = NOW + 8 * 3600
    second = [doing(replace(TOOL, started_at=later), number) for number in range(20)]
    for seconds in (1, 70, 130):
        fleet = advance(fleet, samples_seen(*second, at=later + seconds))
    assert sum(each.count for each in stalls(fleet)) == 20


def test_a_sample_that_waits_for_its_next_try_does_not_stall() -> None:
    """It has no row meanwhile, so that its last one stays: the counts tell."""
    tells = samples_seen(doing(TOOL, 1), doing(TOOL, 2), at=NOW + 1)
    fleet = judged_after(*BEGIN, tells)
    for seconds in (70, 130, 140):
        delta = samples_seen(
            at=NOW + seconds, whole=False, counts=replace(tells.counts, running=1, pending=1)
        )
        fleet = advance(fleet, delta)
    assert stalls(fleet) == []
    call = Operation(
        action="Tool Call", what="Tool Call", words="bash", since=NOW,
        task="gdm_intercode_ctf", sample=(2, 1),
    )  # fmt: skip
    fleet = advance(fleet, OperationsSeen(at=NOW, process=process_key(), operations=(call,)))
    for seconds in (150, 151):
        fleet = advance(
            fleet,
            ReadsUnchanged(at=NOW + seconds, machine=H1, samples=((task_key(), NOW + seconds),)),
        )
    assert [each.sample and each.sample.sample_id for each in stalls(fleet)] == [2]


def test_the_trace_tells_of_a_call_whose_begin_no_answer_shows() -> None:
    call = Operation(
        action="Tool Call", what="Tool Call", words="bash", since=NOW,
        task="gdm_intercode_ctf", sample=(1, 1),
    )  # fmt: skip
    still = doing(None)
    fleet = judged_after(*BEGIN, samples_seen(still))
    fleet = advance(fleet, OperationsSeen(at=NOW, process=process_key(), operations=(call,)))
    for seconds in (70, 119, 125):
        fleet = advance(fleet, tasks_seen(task_row(model="acme/m"), at=NOW + seconds))
        fleet = advance(fleet, samples_seen(still, at=NOW + seconds))
    [found] = stalls(fleet)
    assert found.text.startswith("bash has run for over 2m")
    assert found.proposals[0].action == "cancel-call"


def test_a_retry_wait_that_no_answer_shows_is_not_a_generation() -> None:
    """The trace lacks the generation; only a full read, which comes each two minutes, is sure."""
    fleet = judged_after(*BEGIN, samples_seen(doing(MODEL), at=NOW + 1))
    fleet = advance(fleet, OperationsSeen(at=NOW + 5, process=process_key(), operations=()))
    for seconds in (20, 40, 60, 130):
        fleet = advance(fleet, samples_seen(doing(MODEL), at=NOW + seconds))
    assert stalls(fleet) == []
    for seconds in (181, 182):
        fleet = advance(fleet, samples_seen(doing(MODEL), at=NOW + seconds))
    assert [each.severity for each in stalls(fleet)] == ["alarm"]


def test_many_samples_that_hang_are_few_findings() -> None:
    rows = tuple(doing(replace(TOOL, started_at=NOW - n), number=n) for n in range(40))
    fleet = read_at(1, 100, 125, rows=rows)
    found = stalls(fleet)
    assert len(found) == 6
    [rest] = [each for each in found if each.sample is None]
    assert rest.text == (
        "35 more samples of this task do one thing for too long (35 suspect). See what they share"
    )
    assert rest.count == 35
    named = {each.sample.sample_id for each in found if each.sample is not None}
    assert named == {35, 36, 37, 38, 39}, "the oldest are named"
    fleet = advance(fleet, samples_seen(*rows[:36], at=NOW + 126))
    assert len(stalls(fleet)) == 6
    fleet = advance(fleet, samples_seen(*rows[:3], at=NOW + 127))
    fleet = advance(fleet, samples_seen(*rows[:3], at=NOW + 128))
    assert {each.sample.sample_id for each in stalls(fleet) if each.sample} == {0, 1, 2}
    [closed] = [each for each in fleet.findings if each.id == rest.id]
    assert closed.closed_at
    assert closed.text.startswith("31 more samples"), "its last words stay"


def test_the_next_call_is_a_stall_of_its_own_with_its_own_beginning() -> None:
    """It needs two readings as the first one did, and the first one closes."""
    fleet = read_at(100, 125, rows=(doing(TOOL),))
    [first] = stalls(fleet)
    following = replace(TOOL, started_at=NOW + 130)
    fleet = judged_after(samples_seen(doing(following), at=NOW + 400), fleet=fleet)
    assert stalls(fleet) == []
    fleet = judged_after(samples_seen(doing(following), at=NOW + 401), fleet=fleet)
    [second] = stalls(fleet)
    assert (first.began_at, second.began_at) == (NOW, NOW + 130)
    [over] = [each for each in fleet.findings if each.id == first.id]
    assert over.closed_at == NOW + 400


def test_a_call_that_answers_and_trace_date_a_little_apart_is_one_stall() -> None:
    fleet = read_at(100, 125, rows=(doing(TOOL),))
    [found] = stalls(fleet)
    for seconds in range(130, 160, 5):
        shift = 4.0 if seconds % 2 else 0.0
        row = doing(replace(TOOL, started_at=NOW + shift))
        fleet = judged_after(samples_seen(row, at=NOW + seconds), fleet=fleet)
    assert [(each.id, each.closed_at) for each in fleet.findings if each.kind == "stall"] == [
        (found.id, None)
    ]


def test_two_rooms_that_read_at_other_times_give_a_stall_one_id() -> None:
    rows = (doing(TOOL),)
    ids = {
        each.id
        for times in ((100, 125), (61, 300, 301))
        for each in stalls(read_at(*times, rows=rows))
    }
    assert len(ids) == 1
