"""`evalroom secrets`: values come in by standard input or the keyboard, and never go out."""

import stat
import subprocess
from pathlib import Path

from tests.support.commands import EVALROOM, Home, Ran
from tests.support.terminal import Terminal
from tests.support.waiting import WAIT_S

VALUE = "sk-never-to-be-seen-again"


def _set(home: Home, name: str, value: bytes, *more: str) -> Ran:
    done = subprocess.run(
        [*EVALROOM, "secrets", "set", name, *more], env=home.env, cwd=home.folder, input=value,
        capture_output=True, check=False, timeout=WAIT_S,
    )  # fmt: skip
    return Ran(status=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


def _kept(home: Home) -> Path:
    return home.folder / ".local" / "share" / "evalroom" / "secrets.json"


def test_a_secret_is_piped_in_listed_by_its_name_and_deleted(home: Home) -> None:
    assert "no secrets are stored" in home.run("secrets", "list").out
    printed = _set(home, "A_KEY", f"{VALUE}\n".encode())
    assert printed.status == 0, printed.err
    assert printed.out == f"A_KEY is stored in {_kept(home)} (0600)\n"
    printed = _set(home, "B_KEY", b"one\ntwo\r\n", "--json")
    assert printed.json == {"name": "B_KEY", "kept_in": "file"}
    assert stat.S_IMODE(_kept(home).stat().st_mode) == 0o600
    assert f'"A_KEY":"{VALUE}","B_KEY":"one\\ntwo"' in _kept(home).read_text()

    assert home.run("secrets", "list").out.split()[::3] == ["A_KEY", "B_KEY"]
    listed = home.run("secrets", "list", "--json")
    assert listed.json["secrets"][0] == {"name": "A_KEY", "kept_in": "file"}
    assert VALUE not in listed.out

    asked = home.run("secrets", "delete", "A_KEY")
    assert (asked.status, "add --yes" in asked.err) == (4, True)
    assert home.run("secrets", "delete", "A_KEY", "--yes").out == "A_KEY was deleted\n"
    for words in (("--yes",), ()):
        gone = home.run("secrets", "delete", "A_KEY", "--json", *words)
        assert (gone.status, gone.json["error"]["kind"]) == (1, "secret_missing")
        assert gone.json["error"]["advice"] == "see: evalroom secrets list"


def test_a_value_is_never_an_argument_and_not_repeated_where_it_was_one(home: Home) -> None:
    for words in (
        ("set", "A_KEY", VALUE), ("set", f"A_KEY={VALUE}"), ("set", "A_KEY", "--value", VALUE),
        ("set", "A_KEY", f"--value={VALUE}"), ("set", VALUE), (VALUE,),
    ):  # fmt: skip
        printed = home.run("secrets", *words)
        assert printed.status == 2
        assert VALUE not in printed.out + printed.err
    assert not _kept(home).exists()


def test_a_value_that_no_variable_can_hold_is_refused(home: Home) -> None:
    for value, why in ((b"", "is empty"), (b"\xff", "not UTF-8"), (b"a\0b", "NUL"),
                       (b"x" * 70_000, "longer than 64 KiB")):  # fmt: skip
        printed = _set(home, "A_KEY", value)
        assert (printed.status, why in printed.err) == (2, True), printed.err


def test_at_a_terminal_it_is_asked_for_and_not_shown(home: Home) -> None:
    terminal = Terminal((*EVALROOM, "secrets", "set", "A_KEY"), env=home.env, cwd=home.folder)
    try:
        terminal.until("value of A_KEY: ")
        terminal.type(f"{VALUE}\r")
        terminal.until("A_KEY is stored in")
        assert VALUE.encode() not in terminal.output
        assert terminal.wait_end() == 0
    finally:
        terminal.close()
    assert VALUE in _kept(home).read_text()


def test_ctrl_c_at_the_question_keeps_nothing_and_the_terminal_shows_again(home: Home) -> None:
    terminal = Terminal((*EVALROOM, "secrets", "set", "A_KEY"), env=home.env, cwd=home.folder)
    try:
        terminal.until("value of A_KEY: ")
        assert not terminal.echoes()
        terminal.type("\x03")
        assert terminal.wait_end() == 130
        assert terminal.echoes()
    finally:
        terminal.close()
    assert not _kept(home).exists()
