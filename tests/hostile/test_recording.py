"""A recording is text of whoever made it: it shows harmless, and copies nothing unasked."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.desk import replay
from core.desk.replay import ReplayDesk, read_recording
from core.errors import StorageError
from tests.hostile.recording import BROKEN, COMMAND, hostile_events, hostile_recording
from tests.support.clocks import RealClock
from tests.support.rooms import app_on, screen_text, services_on, shows


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_a_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(BROKEN[name])
    with pytest.raises(StorageError):
        list(read_recording(path))


def test_a_line_without_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "MAX_LINE_CHARS", 1_000)
    path = tmp_path / "r.jsonl"
    path.write_text("{" * 5_000)
    with pytest.raises(StorageError, match=r"line 1 of .* is longer than any event"):
        list(read_recording(path))


async def test_no_command_of_a_recording_is_copied_or_run_without_its_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = list(read_recording(hostile_recording(tmp_path / "r.jsonl")))
    assert len(events) == len(hostile_events())
    desk = ReplayDesk(iter(events), clock=RealClock(), speed=0)
    app = app_on(desk, services=services_on(desk))
    copied: list[str] = []

    def copy(text: Any, _: str) -> None:
        copied.append(text)

    monkeypatch.setattr(app, "copy", copy)
    async with app.run_test(size=(150, 40), notifications=True) as pilot:
        await shows(pilot, "h100-1")
        await pilot.press("N")
        await shows(pilot, "you")
        assert "\x1b" not in screen_text(app)
        for key in ("y", "Y"):
            await pilot.press(key)
            await shows(pilot, "Whoever made this recording wrote it, not you.")
            await pilot.press("escape")
            await asyncio.sleep(0)
        assert copied == []
        await pilot.press("y")
        await shows(pilot, COMMAND[:20])
        await pilot.press("y")
        await pilot.pause()
        assert len(copied) == 1
        await pilot.press("t")
        await shows(pilot, "Whoever made this recording wrote it, not you.")
        assert len(copied) == 1
