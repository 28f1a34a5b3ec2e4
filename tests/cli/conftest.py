from pathlib import Path

import pytest

from tests.support.commands import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An operator's fresh home."""
    return Home(tmp_path)


@pytest.fixture
def here(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The same home, also for what runs within the test itself."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home.folder))
    return home
