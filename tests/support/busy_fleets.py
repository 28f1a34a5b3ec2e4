"""A fleet worth a picture: links in trouble, a held task, errors, samples of every status."""

from dataclasses import replace

from core.events import Event, LinkHeard
from core.fleet import Fleet
from core.ids import MachineName
from core.model.finding import Finding
from core.model.machine import LinkState
from core.model.sample import Activity, Sample, ToolCall
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    facts,
    fleet_after,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)

EU, US = MachineName("a100-eu"), MachineName("a100-us")


def busy_fleet() -> Fleet:
    """Return four machines with six tasks: two links in trouble, one task held, some errors."""
    before = NOW - 4_000
    events: list[Event] = [named(each) for each in (H1, H2, EU, US)]
    events += [link(LinkState.UP, each, at=before) for each in (H1, H2, EU, US)]
    events += [facts(each) for each in (H1, H2, EU)]
    events += [
        process_seen(machine, pid, at=NOW - 3_000)
        for machine, pid in (
            (H1, 100),
            (H1, 101),
            (H2, 200),
            (H2, 201),
            (EU, 300),
            (EU, 301),
            (US, 400),
        )
    ]
    heard = ((H1, 1), (H2, 2), (EU, 14), (US, 120))
    events += [LinkHeard(at=NOW - ago, machine=machine) for machine, ago in heard]
    events.append(link(LinkState.LAGGING, EU, at=NOW - 14, reason="nothing heard"))
    for ago, done in ((2_400, 10), (1_800, 22), (1_200, 35), (600, 50), (1, 60)):
        row = task_row("t1", done=done, errored=done // 30, flying=38, total_tokens=done * 80_000)
        events.append(tasks_seen(row, pid=100, at=NOW - ago))
    held = task_row(
        "t2", task="cybench", done=12, flying=0, queued=28, total=40, held=3, paused=("task",)
    )
    gpqa = task_row("t3", task="gpqa_diamond", model="openai/gpt-5", done=402, flying=24, total=448)
    swe = task_row(
        "t4", task="swe_bench_verified", model="vllm/acme/coder", done=8, errored=1, flying=40,
        total=500, queued=452, http_retries=61,
    )  # fmt: skip
    mle = task_row("t5", task="mle_bench_lite", flying=22, total=22)
    sums = task_row("t7", task="arithmetic", model="ollama/llama3", done=20, flying=0, total=20)
    far = task_row(
        "t6", task="cybench", model="openai/gpt-5", done=19, errored=1, flying=12, total=40
    )
    events += [
        tasks_seen(held, pid=101, at=NOW - 1),
        tasks_seen(gpqa, machine=H2, pid=200, at=NOW - 2),
        tasks_seen(swe, machine=H2, pid=201, at=NOW - 2),
        tasks_seen(mle, machine=EU, pid=300, at=NOW - 14),
        tasks_seen(sums, machine=EU, pid=301, at=NOW - 240),
        process_gone(EU, 301, at=NOW - 230),
        log_read(
            task=task_key("t7", EU, 301),
            score=0.95,
            at=NOW - 220,
            samples=logged(total=20, completed=20, scored=20),
        ),
        tasks_seen(far, machine=US, pid=400, at=NOW - 120),
        link(LinkState.DOWN, US, at=NOW - 120, reason="Connection timed out", retry_at=NOW + 8),
        samples_seen(*busy_samples(), task=task_key("t1", H1, 100), at=NOW - 1),
    ]
    return replace(fleet_after(*events), findings=busy_findings())


def busy_samples() -> list[Sample]:
    """Return samples of every status, among them one that waits to retry."""
    bash = ToolCall(id="call_1", function="bash", started_at=NOW - 252)
    waiting = Activity(type="retry_wait", count=6, started_at=NOW - 20, deadline=NOW + 45)
    rows = [
        sample(17, activity=Activity(type="tool", started_at=NOW - 252, calls=(bash,))),
        sample(44, activity=waiting, last_activity_at=NOW - 20, turn_count=7, total_tokens=31_000),
    ]
    rows += [
        sample(
            number,
            total_tokens=12_000 + number * 3_000,
            turn_count=number % 23,
            last_activity_at=NOW - number % 31,
            activity=Activity(type="model", started_at=NOW - number % 31),
        )
        for number in range(60, 96)
    ]
    rows += [
        sample(5, status="error", turn_count=31, total_tokens=140_000),
        sample(6, status="error"),
    ]
    rows += [
        sample(
            number,
            status="completed",
            scores={"includes": "C" if number % 3 else "I"},
            started_at=NOW - 60 * number - 300,
            completed_at=NOW - 60 * number,
        )
        for number in range(100, 160)
    ]
    return rows


def busy_findings() -> tuple[Finding, ...]:
    """Return findings of every tone."""
    return (
        Finding(
            id="a", kind="errors", severity="suspect", opened_at=NOW - 60, machine=H1,
            task=task_key("t1"), text="2 of 100 samples errored (2%)",
        ),
        Finding(
            id="b", kind="link", severity="alarm", opened_at=NOW - 120, machine=US,
            text="The link is down: no data from a100-us for 20 s",
        ),
        Finding(
            id="d", kind="finished", severity="notice", opened_at=NOW - 900, closed_at=NOW - 900,
            machine=EU, task=task_key("t7", EU, 301),
            text="Success: accuracy 0.95 ±0.05, 20 of 20 samples done",
        ),
    )  # fmt: skip
