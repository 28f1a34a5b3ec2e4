from pathlib import Path

import pytest
from hypothesis import given, settings

from core.desk.replay import read_recording
from core.errors import StorageError
from core.event_codec import EVENTS, event_of, line_of
from core.events import Event, RunChanged
from core.model.run import RunState
from tests.support.events import BY_KIND, KINDS
from tests.support.fleets import H1, facts, link, named
from tests.support.recordings import write_recording
from tests.support.runs import run


def test_every_event_has_a_codec_case_and_a_sample() -> None:
    assert set(EVENTS.values()) == set(KINDS) == set(BY_KIND)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.__name__))
def test_an_event_comes_back_from_its_line_as_it_was(kind: type[Event]) -> None:
    @given(BY_KIND[kind])
    @settings(max_examples=40)
    def check(event: Event) -> None:
        line = line_of(event)
        assert line.count("\n") == 1
        # Not-a-number is not equal to itself, so the lines are compared.
        assert line_of(event_of(line)) == line

    check()


@pytest.mark.parametrize(
    "line",
    ["", "[]", "{", '{"v": 2}', '{"v": 1, "event": "Nothing"}', '{"v": 1, "event": "LinkHeard"}'],
)
def test_a_line_that_is_not_an_event_is_refused_with_one_kind_of_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        event_of(line)


def test_a_number_that_evalroom_never_writes_is_refused() -> None:
    line = line_of(facts()).replace('"cpus":64', '"cpus":' + "9" * 400)
    assert len(line) > 400
    with pytest.raises(ValueError, match="too many digits"):
        event_of(line)


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_recording(path, [named(), link()])
    path.write_text(path.read_text() + '{"v": 1, "ev')
    assert list(read_recording(path)) == [named(), link()]


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line_of(named(H1)) + "nonsense\n" + line_of(link()))
    with pytest.raises(StorageError, match="line 2"):
        list(read_recording(path))


def test_a_missing_recording_is_reported_as_unreadable(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="can't read the recording"):
        list(read_recording(tmp_path / "nowhere"))


def test_an_older_recording_is_read_by_the_names_of_its_day() -> None:
    unchanged = '{"v":1,"event":"%s","at":1.0,"machine":"m"}'
    assert event_of(unchanged % "LooksUnchanged") == event_of(unchanged % "ReadsUnchanged")
    changed = line_of(RunChanged(at=1.0, run=run(1, RunState.ERROR, message="why")))
    assert event_of(changed.replace('"message":', '"said":')) == event_of(changed)
