"""A history that another program holds: the room opens all the same."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from cli.wiring.history import history_of
from core.config.file import default_config
from storage.paths import paths


async def test_a_history_that_is_held_does_not_hold_up_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    async with history_of(default_config(), paths()) as history:
        assert not history.warning
    holder = sqlite3.connect(paths().database)
    try:
        holder.execute("BEGIN EXCLUSIVE")
        async with asyncio.timeout(3), history_of(default_config(), paths()) as history:
            assert "while the history is locked" in history.warning
            assert history.event_store is not None
    finally:
        holder.close()
