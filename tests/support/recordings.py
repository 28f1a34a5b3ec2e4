"""Writes recordings for tests."""

from collections.abc import Iterable
from pathlib import Path

from core.event_codec import line_of
from core.events import Event


def write_recording(path: Path, events: Iterable[Event]) -> None:
    """Write events as a recording, as `core.desk.recorder.Recorder` does."""
    path.write_text("".join(line_of(event) for event in events), encoding="utf-8")
