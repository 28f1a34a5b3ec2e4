"""The room opened from the command line, in a real terminal."""

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.commands import EVALROOM, Home
from tests.support.fleets import link, named, process_seen, task_row, tasks_seen
from tests.support.recordings import write_recording
from tests.support.terminal import Terminal
from tests.support.waiting import wait_until


@contextmanager
def opened(home: Home, *words: str) -> Generator[Terminal, None, None]:
    terminal = Terminal([*EVALROOM, *words], env=home.env, cwd=home.folder)
    try:
        yield terminal
    finally:
        terminal.close()


def leave(terminal: Terminal) -> int:
    """Leave by the key, and return the exit status."""
    terminal.type("q")
    terminal.until("stay")
    terminal.type("\r")
    return terminal.wait_end()


def kept(history: sqlite3.Connection) -> bool:
    """Whether an event is in a history."""
    try:
        return bool(history.execute("SELECT count(*) FROM event").fetchone()[0])
    except sqlite3.OperationalError:
        return False


def rooms_linked(terminal: Terminal, history: Path) -> int:
    """How many rooms have written to a history that their link is up; the terminal is read on."""
    terminal.read(0.05)
    with closing(sqlite3.connect(f"file:{history}?mode=ro", uri=True)) as raw:
        try:
            query = "SELECT count(DISTINCT desk) FROM event WHERE kind = 'ProbeAnswered'"
            return int(raw.execute(query).fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def test_the_room_keeps_its_history_and_its_view_for_the_operator_alone(home: Home) -> None:
    home.watch_here(home.folder / "d")
    share = home.folder / ".local" / "share" / "evalroom"
    history = share / "history.sqlite3"
    for rooms in (1, 2):
        with opened(home) as terminal:
            terminal.until("here")
            wait_until(lambda: rooms_linked(terminal, history) == rooms, "the link is stored")  # noqa: B023
            assert leave(terminal) == 0
    with sqlite3.connect(share / "history.sqlite3") as raw:
        kinds = {kind for (kind,) in raw.execute("SELECT kind FROM event")}
        desks = raw.execute("SELECT count(DISTINCT desk) FROM event").fetchone()
    raw.close()
    assert {"LinkChanged", "ProbeAnswered"} <= kinds
    assert desks == (2,)
    view = home.folder / ".local" / "state" / "evalroom" / "view.json"
    modes = {path.stat().st_mode & 0o777 for path in (view, share / "history.sqlite3")}
    assert modes == {0o600}
    assert share.stat().st_mode & 0o777 == 0o700


def test_the_room_opens_although_its_history_is_of_a_newer_evalroom(home: Home) -> None:
    home.watch_here(home.folder / "d")
    file = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"
    file.parent.mkdir(mode=0o700, parents=True)
    with sqlite3.connect(file) as raw:
        raw.execute("PRAGMA application_id = 1165382253")
        raw.execute("PRAGMA user_version = 999")
        raw.execute("CREATE TABLE later (x)")
    raw.close()
    with opened(home) as terminal:
        terminal.until("nothing is stored")
        terminal.until("up")
        assert leave(terminal) == 0


def test_the_room_opens_at_once_although_another_program_holds_its_history(home: Home) -> None:
    home.watch_here(home.folder / "d")
    file = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"
    file.parent.mkdir(mode=0o700, parents=True)
    with closing(sqlite3.connect(file, isolation_level=None)) as raw:
        raw.execute("PRAGMA locking_mode = EXCLUSIVE")
        raw.execute("BEGIN EXCLUSIVE")
        with opened(home) as terminal:
            terminal.until("nothing is stored while the history is locked", 9)
            raw.execute("ROLLBACK")
            raw.close()
            with closing(sqlite3.connect(file, timeout=10)) as free:
                wait_until(lambda: kept(free), "what happens is kept again")
            assert leave(terminal) == 0


def test_the_room_says_that_an_unusable_history_was_moved_aside(home: Home) -> None:
    file = home.folder / ".local" / "share" / "evalroom" / "history.sqlite3"
    file.parent.mkdir(mode=0o700, parents=True)
    file.write_bytes(b"garbage" * 1_000)
    home.watch_here(home.folder / "d")
    with opened(home) as terminal:
        terminal.until("unusable")
        assert leave(terminal) == 0
    [kept] = file.parent.glob("*.unusable-*")
    assert kept.read_bytes() == b"garbage" * 1_000


def test_a_recording_plays_in_the_room(home: Home) -> None:
    file = home.folder / "record.jsonl"
    events = (named(), link(), process_seen(), tasks_seen(task_row(task="ctf", done=61)))
    write_recording(file, events)
    with opened(home, "replay", str(file), "--speed", "100") as terminal:
        terminal.until("ctf")
        terminal.until("61/100")
        assert leave(terminal) == 0


@pytest.mark.parametrize("content", [None, "no event\n"])
def test_a_recording_that_can_not_be_read_is_reported_and_no_room_opens(
    home: Home, content: str | None
) -> None:
    file = home.folder / "record.jsonl"
    if content is not None:
        file.write_text(content)
    with opened(home, "replay", str(file)) as terminal:
        assert terminal.wait_end() == 1
        assert b"\x1b[?1049h" not in bytes(terminal.output)
        assert str(Path(file)).encode() in bytes(terminal.output)
