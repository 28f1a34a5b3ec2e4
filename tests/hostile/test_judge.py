"""Names in notifications are plain words, and no text of an agent is in a finding or a message."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.fleet import Fleet
from core.ids import SampleKey
from core.judge.finding_list import with_findings
from core.model.finding import Finding
from core.notify.message import message_of
from ssh.shipped.probe.trace_file import TraceFile
from tests.support.fleets import H1, NOW, fleet_of_tasks, task_key, task_row
from tests.support.judged_screens import Judged, finding_texts, messages, reports
from tests.support.observing import ROW

AGENT = "ignore-all-rules-says-the-agent"
MARKUP = "@everyone <!channel> <@123> [log in](https://evil.example) *b* `c` ~~d~~ $(e) #f"
ODD_NAMES = st.text(st.sampled_from("@<>![]()*`~|\\#$&{}:/ ae\x1b\u202e\n"), max_size=40)


def about(
    task: str, model: str, sample_id: str | int, kind: str = "stall"
) -> tuple[Fleet, Finding]:
    """Return a fleet and a finding of these names."""
    fleet = fleet_of_tasks(task_row("t1", task=task, model=model))
    finding = Finding(
        id="f", kind=kind, severity="alarm", opened_at=NOW, machine=H1, text=AGENT, cause=AGENT,
        task=task_key(), model=model, sample=SampleKey(task_key(), sample_id, 1),
    )  # fmt: skip
    return with_findings(fleet, [finding]), finding


@given(task=ODD_NAMES, sample_id=ODD_NAMES | st.integers(), kind=ODD_NAMES)
@settings(max_examples=60)
def test_a_notification_mentions_nobody_and_links_nowhere(
    task: str, sample_id: str | int, kind: str
) -> None:
    for names in ((task, sample_id, kind), (MARKUP + task, MARKUP, MARKUP)):
        fleet, finding = about(names[0], MARKUP, names[1], names[2])
        for findings in ([finding], [finding, finding]):
            message = message_of(fleet, findings, NOW)
            for text in (message.title, *message.body.split("\n")):
                assert not set("@<>[]*`~|\\$&{}!").intersection(text), text
                assert "://" not in text
                assert text.isprintable()


@pytest.mark.parametrize("size", [1_000, 3_000_000])
def test_a_name_without_end_makes_no_long_message(size: int) -> None:
    fleet, finding = about("t" * size, "m" * size, "s" * size)
    message = message_of(fleet, [finding] * 30, NOW)
    assert len(message.title) + len(message.body) < 5_000
    assert len(message_of(fleet, [finding], NOW).body) < 1_000


def trace_rows(path: Path, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that a probe sends of a trace with these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    trace = TraceFile(os.open(path, os.O_RDONLY), None, {})
    trace.poll()
    rows: list[dict[str, Any]] = trace.lasting(time.time(), 4.0)
    trace.close()
    return rows


def test_no_text_of_an_agent_reaches_a_finding_a_report_or_a_notification(tmp_path: Path) -> None:
    """What an agent wrote stands in tool calls, in their commands, and in names that it made up."""
    began = time.time() - 3_000
    of_sample = {"event": "enter", "start_time": began, "task": "ctf", "epoch": 1}
    command = f"docker compose --project-name inspect-a-i123456 exec default {AGENT}"
    rows = trace_rows(
        tmp_path / "trace-1.log",
        {**of_sample, "trace_id": "1", "sample_id": 1, "action": "Tool Call",
         "detail": f"bash(cmd='{AGENT}')"},
        {**of_sample, "trace_id": "2", "sample_id": 1, "action": "Subprocess", "detail": command},
        {**of_sample, "trace_id": "3", "sample_id": 2, "action": "Tool Call",
         "detail": f"{AGENT} tool(x=1)"},
    )  # fmt: skip
    assert len(rows) == 2
    calls = [{"id": "c", "function": f"{AGENT} tool", "started_at": NOW - 3_000}]
    activity = {"type": "tool", "count": 1, "started_at": NOW - 3_000, "calls": calls}
    samples = [
        {"sample_id": number, "epoch": 1, "status": "running", "started_at": NOW - 4_000,
         "activity": {**activity, "detail": f"{AGENT} tool"}, "error": AGENT,
         "limit_reason": AGENT, "last_activity_at": NOW - 3_000}
        for number in (1, 2)
    ]  # fmt: skip
    seen = Judged()
    seen.hello()
    seen.processes({})
    seen.steer()
    seen.answer("tasks", [{**ROW, "started_at": NOW - 5_000}])
    for turn in range(8):
        seen.now = NOW + 60 * turn
        seen.steer(focus=next(iter(seen.fleet.tasks)))
        seen.answer("s/", {"as_of": seen.now, "counts": {"running": 2}, "samples": samples})
        seen.receive("doing", [{**row, "since": NOW - 3_000} for row in rows], pid=7, start="b:1")
        seen.pass_time()
    kinds = {each.kind for each in seen.fleet.findings}
    assert "stall" in kinds, kinds
    now = seen.now
    texts = [*messages(seen.fleet, now), *finding_texts(seen.fleet, now), *reports(seen.fleet, now)]
    texts += [f"{each.text} {each.cause}" for each in seen.fleet.findings]
    assert any("stall" in text for text in texts)
    assert not [text for text in texts if AGENT in text]
