"""Pictures of the app, held against stored ones."""

import time
from collections.abc import Callable, Iterator

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.support.pictures import svg_of
from tui.app import RoomApp


class _Svg(SingleFileSnapshotExtension):
    file_extension = "svg"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def utc() -> Iterator[None]:
    """The operator's clock shows UTC, wherever the test runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def picture(snapshot: SnapshotAssertion, utc: None) -> Callable[[RoomApp], None]:
    """Compare the app's screen with the stored picture; `--snapshot-update` draws it anew."""
    del utc
    stored = snapshot.use_extension(_Svg)

    def compare(app: RoomApp) -> None:
        assert svg_of(app) == stored

    return compare
