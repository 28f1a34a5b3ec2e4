"""Why a sample or a process does what it does: the verdict, and what it rests on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.config.judge import JudgeConfig
from core.errors import TargetUnclear
from core.events import Event, OperationsSeen, SamplesSeen
from core.ids import ProcessKey, SampleKey
from core.model.machine import LinkState
from core.model.operation import Operation
from core.model.process import ProcessState
from core.model.sample import Activity
from core.text import Shown
from core.views.triage.why import Why, why, why_lines
from tests.support.fleets import (
    NOW,
    facts,
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

KEY = SampleKey(task_key(), 1, 1)


def doing(kind: str, seconds: float, **more: Any) -> SamplesSeen:
    activity = Activity(type=kind, started_at=NOW - seconds, detail="bash")
    return samples_seen(sample(1, activity=activity, **more))


def report(*events: Event, target: SampleKey | ProcessKey = KEY, **row: Any) -> Why:
    begin = (named(), link(), process_seen(), tasks_seen(task_row(model="acme/m", **row)))
    return why(judged_after(*begin, *events), target, JudgeConfig(), NOW + 1, [Shown("tool bash")])


def text(found: Why) -> str:
    return "\n".join("".join(span.text for span in line) for line in why_lines(found))


@pytest.mark.parametrize(
    ("events", "word", "words"),
    [
        ([doing("tool", 5)], "fine", "bash for 5s: nothing unusual"),
        ([doing("tool", 130)], "suspect", "bash for 2m 10s: longer than usual"),
        ([doing("tool", 700)], "alarm", "bash for 11m 40s: it looks stuck"),
        ([doing("retry_wait", 700)], "waits", "waits to ask again"),
        ([doing("approval", 700)], "waits", "approve a tool call"),
        ([samples_seen(sample(1, status="queued"))], "waits", "its turn"),
        ([samples_seen(sample(1, status="completed"))], "ended", "it is done"),
        ([doing("tool", 700), process_gone()], "ended", "its process has ended"),
        ([doing("tool", 700), link(LinkState.DOWN)], "unknown", "can't be reached"),
        (
            [doing("tool", 700), process_seen(state=ProcessState.STARVED)], "alarm", "is blocked",
        ),
        ([doing("tool", 700, interrupt="cancel")], "waits", "a stop is on its way"),
    ],
)  # fmt: skip
def test_the_verdict_says_what_it_does(events: Sequence[Event], word: str, words: str) -> None:
    found = report(*events)
    assert found.word == word
    assert words in found.verdict


def test_a_held_sample_waits() -> None:
    assert report(doing("tool", 700), paused_now=("task",)).word == "waits"


def test_the_facts_behind_it_are_listed() -> None:
    finished = [sample(n, status="completed", total_time=60.0 * n) for n in range(2, 8)]
    activity = Activity(type="tool", started_at=NOW - 5, detail="bash")
    said = text(report(samples_seen(sample(1, activity=activity), *finished), http_retries=3))
    assert "suspect from 2m 00s and an alarm from 10m 00s" in said
    assert "6 samples: half took 4m 30s" in said
    assert "3 HTTP requests of its task had to be sent again" in said
    assert "100 is live" in said
    assert "tool bash" in said


def test_a_process_is_explained_by_its_trace() -> None:
    command = Operation(action="Subprocess", what="docker exec", words="sleep", since=NOW - 600)
    seen = OperationsSeen(at=NOW, process=process_key(), operations=(command,))
    found = report(doing("tool", 700), seen, target=process_key())
    assert (found.word, found.verdict) == ("suspect", "it answers, and 1 sample of it looks stuck")
    assert "docker exec sleep for 10m 01s" in text(found)


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(TargetUnclear):
        report(target=SampleKey(task_key(), "x", 1))
    with pytest.raises(TargetUnclear):
        report(target=process_key(pid=9))


def test_a_process_is_as_old_as_it_says_and_not_as_long_as_this_room_knows_it() -> None:
    said = text(report(doing("tool", 130), target=process_key()))
    assert "100 is live; it started 5m 01s ago" in said


def test_a_machine_whose_cpus_are_unknown_has_no_load() -> None:
    said = text(report(facts(cpus=None), doing("tool", 130)))
    assert "h100-1 is up" in said
    assert "load" not in said


def test_the_findings_of_a_process_name_their_samples() -> None:
    twice = [replace(doing("tool", 700), at=NOW + look, as_of=NOW + look) for look in (0, 1)]
    said = text(report(*twice, target=process_key()))
    assert "alarm: h100-1:t1#1/1 (gdm_intercode_ctf): bash has run for over" in said
