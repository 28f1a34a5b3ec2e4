"""A fleet in which every text of a host is hostile."""

import json
from dataclasses import replace
from typing import Any

from core.events import SamplesSeen
from core.fleet import Fleet
from core.model.finding import Finding
from core.model.machine import LinkState
from core.model.sample import Activity, SampleCounts, ToolCall
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    fleet_after,
    link,
    named,
    probe_answered,
    process_seen,
    sample,
    task_key,
    task_row,
    tasks_seen,
)

HOSTILE = (
    "\x1b]52;c;RVZJTA==\x07\x1b]2;EVILTITLE\x07\x1b[2J\x1b[31mred\x9b31m\x90q\x9c\u202eevil\u200b"
    "\u2066[/][@click=app.quit]GO[/] [link=http://e]t[/link] \r\n\x00\x7f\U000e0041:bomb: \ud800"
)
"""What no terminal must ever be sent: OSC 52, a title, CSI, C1, bidi, markup, a lone surrogate."""


def hostile_fleet() -> Fleet:
    """Return a fleet in which every text of a host is hostile."""
    evil, key = HOSTILE, task_key("t1")
    row = task_row(
        "t1", task=evil, model=evil, solver=evil, log_location=evil, resolving=evil,
        paused=(evil,), done=3, errored=1, flying=2, total=9,
    )  # fmt: skip
    call = ToolCall(id=evil, function=evil, started_at=NOW - 5)
    rows = [
        sample(evil, activity=Activity(type=evil, detail=evil, calls=(call,), started_at=NOW - 5)),
        sample("x" + evil, activity=Activity(type="tool", detail=evil, calls=(call,))),
        sample(3, status="completed", scores={evil: evil}, limit=evil),
        sample(4, status=evil, interrupt=evil),
    ]
    fleet = fleet_after(
        named(),
        link(),
        facts(gpu_error=evil),
        probe_answered(host=evil, platform=evil, user=evil),
        process_seen(argv=("inspect", "eval", evil), cwd=evil, python=evil, run_id=evil),
        tasks_seen(row),
        SamplesSeen(
            at=NOW,
            task=key,
            eval_id="e-t1",
            as_of=NOW,
            counts=SampleCounts(running=2, completed=1),
            rows=tuple(rows),
            whole=True,
        ),
        link(LinkState.DOWN, reason=evil, advice=evil, at=NOW + 1),
        link(LinkState.UP, at=NOW + 2),
    )
    finding = Finding(
        id="a", kind=evil, severity="alarm", opened_at=NOW, machine=H1, task=key, text=evil
    )
    return replace(fleet, findings=(finding, *fleet.findings))


def hostile_answers() -> dict[str, tuple[int, bytes]]:
    """Return what a hostile process answers about any of its samples."""
    evil, error = HOSTILE, {"message": HOSTILE, "traceback": HOSTILE}
    call = {"id": evil, "function": evil, "arguments": {evil: evil}}
    kinds = ("tool", "model", evil)
    event = {"uuid": evil, "timestamp": 1.0, "function": evil, "model": evil, "stop_reason": evil}
    bodies: dict[str, Any] = {
        "/sample/events": {
            "events": [
                {**event, "event": kind, "uuid": kind, "result": evil, "completion": evil}
                for kind in kinds
            ],
            "next": None,
            "done": True,
        },
        "/sample/messages": {
            "as_of": 1.0,
            "status": evil,
            "count": 1,
            "messages": [{"index": 0, "role": evil, "content": evil, "tool_calls": [call]}],
        },
        "/sample/store": {
            "as_of": 1.0,
            "status": evil,
            "count": 1,
            "store": {evil: {"type": evil, "size": 1, "value": evil}},
        },
        "/sample": {
            "sample_id": 3,
            "epoch": 1,
            "status": evil,
            "error": error,
            "error_retries": [error],
            "limit_reason": evil,
        },
    }
    return {f"/evals/e-t1{path}": (200, json.dumps(body).encode()) for path, body in bodies.items()}
