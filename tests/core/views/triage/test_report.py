"""The report that a colleague gives: how far, what stands out, what to do."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.config.judge import JudgeConfig, Price
from core.errors import TargetUnclear
from core.fleet import Fleet
from core.ids import MachineName, SampleKey
from core.model.sample import Activity, Sample
from core.views.triage.lines import triage_lines
from core.views.triage.report import Target, Triage, triage
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    judged_after,
    link,
    named,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

HANGS = sample(
    1, started_at=NOW - 900, activity=Activity(type="tool", started_at=NOW - 700, detail="bash")
)
DONE = [
    sample(n, status="completed", started_at=NOW - 120, completed_at=NOW - 60, total_tokens=100)
    for n in range(10, 22)
]


def fleet_with(*rows: Sample, looks: Sequence[float] = (0,), errored: int = 0) -> Fleet:
    begin = (
        named(), named(H2), link(), link(machine=H2), process_seen(),
        tasks_seen(task_row(total=40, done=12, errored=errored, flying=2, http_retries=7)),
    )  # fmt: skip
    return judged_after(*begin, *(samples_seen(*rows, at=NOW + each) for each in looks))


def report(fleet: Fleet, target: Target = None) -> Triage:
    return triage(fleet, target, JudgeConfig(), NOW + 10)


def text(fleet: Fleet, target: Target = None) -> str:
    lines = triage_lines(fleet, report(fleet, target))
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_it_says_how_far_what_hangs_and_what_to_do() -> None:
    fleet = fleet_with(HANGS, *DONE, errored=1)
    said = text(fleet)
    assert "12 of 40 samples done · 1 errored · 2 in flight" in said
    assert "7 HTTP retries" in said
    assert "h100-1:t1#1/1: bash for 11m 40s, alarm" in said
    assert "has run for 15:00, 95% of the finished ones took 1:00 or less" in said
    assert "evalroom act cancel-call 'h100-1:t1#1/1'" in said


def test_a_finding_and_the_sample_that_it_is_about_give_one_step() -> None:
    fleet = fleet_with(HANGS, looks=(0, 1))
    assert [each.kind for each in report(fleet).findings] == ["stall"]
    [step] = report(fleet).steps
    assert step.command == "evalroom act cancel-call 'h100-1:t1#1/1'"


def test_what_several_samples_do_is_said_once_with_what_it_is_about() -> None:
    def alike(sample_id: int) -> Sample:
        return replace(HANGS, sample_id=sample_id)

    said = text(fleet_with(alike(1), alike(2), alike(3), looks=(0, 1)))
    [finding] = [line for line in said.splitlines() if line.startswith("  alarm")]
    assert finding.startswith("  alarm   h100-1:t1#")
    assert " and 2 more samples: bash has run for over 10m" in finding
    commands, _, reason = said.partition("Next\n")[2].partition("    bash has run for over 10m")
    assert commands.count("evalroom act cancel-call") == 3
    assert "bash has run" not in reason


def test_a_calm_fleet_needs_nobody() -> None:
    said = text(fleet_with(sample(1, total_tokens=90), *DONE))
    assert said.endswith("Nothing needs you.")
    assert "Next" not in said


@pytest.mark.parametrize(
    ("target", "tasks", "findings"),
    [
        pytest.param(H1, 1, 1, id="machine"),
        pytest.param(process_key(), 1, 1, id="process"),
        pytest.param(task_key(), 1, 1, id="task"),
        pytest.param(SampleKey(task_key(), 1, 1), 1, 1, id="sample"),
        pytest.param(SampleKey(task_key(), 2, 1), 1, 0, id="another sample"),
        pytest.param(H2, 0, 0, id="another machine"),
    ],
)
def test_a_target_narrows_the_report(target: Target, tasks: int, findings: int) -> None:
    found = report(fleet_with(HANGS, sample(2), looks=(0, 1)), target)
    assert (len(found.tasks), len(found.findings)) == (tasks, findings)


def test_what_left_the_fleet_is_said() -> None:
    with pytest.raises(TargetUnclear, match="no longer known"):
        report(fleet_with(), MachineName("gone"))


def test_text_of_a_host_is_harmless() -> None:
    evil = replace(HANGS, activity=Activity(type="tool", started_at=NOW - 700, detail="\x1b[2J\n"))
    assert "\x1b" not in text(fleet_with(evil))
    assert "\n\n\n" not in text(fleet_with(evil))


def test_it_says_what_a_model_with_a_price_has_cost() -> None:
    fleet = fleet_with(*DONE)
    rules = JudgeConfig(prices={"acme/sec-agent": Price(into=100.0, out=1_000.0)})
    lines = triage_lines(fleet, triage(fleet, None, rules, NOW + 10))
    said = "\n".join("".join(span.text for span in line) for line in lines)
    assert "$4.80 to $48 spent, $5.07 or more at the end" in said
    assert "spent" not in text(fleet)
