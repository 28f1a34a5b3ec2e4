"""The consent of an operator: in advance on the command line, or at the terminal."""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import tty
from collections.abc import Iterator
from typing import Any

import pytest

from cli.commands import sessions
from cli.commands.sessions import end_one
from cli.confirm import confirm
from cli.parser.command import Consent
from cli.parser.runs import EndSessionCommand
from core.errors import NotConfirmed
from core.ids import MachineName
from core.launch.engines.tmux_sessions import TmuxSession
from core.launch.run.sessions import MachineSession
from tests.support.commands import EVALROOM, Home, machine
from tests.support.evals import short_folder
from tests.support.fleets import NOW
from tests.support.specs import SMOKE
from tests.support.terminal import Terminal
from tests.support.waiting import WAIT_S, until

YES = Consent(yes=True)
RIGHT, WRONG = Consent(confirm=("turns",)), Consent(confirm=("turn",))


async def asked(consent: Consent, words: str = "", *, may_ask: bool = True) -> None:
    await confirm(
        consent,
        question="drain turns",
        words=words,
        otherwise="nothing was sent",
        may_ask=may_ask,
    )


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as standard input; what is written to this descriptor is typed."""
    main, side = pty.openpty()
    with os.fdopen(side, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr("cli.confirm.has_terminal", lambda: True)
        yield main
    os.close(main)


async def answered(keyboard: int, keys: bytes, words: str = "") -> None:
    """Ask, and type once the question is there."""
    asking = asyncio.create_task(asked(Consent(), words))
    await asyncio.sleep(0)  # its first step asks, and then waits for the keyboard
    os.write(keyboard, keys)
    await asking


@pytest.mark.parametrize(
    ("consent", "words"),
    [(YES, ""), (RIGHT, "turns"), (Consent(confirm=("41", " turns ")), "turns")],
)
async def test_consent_in_advance_is_enough_and_nothing_is_asked(
    consent: Consent, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await asked(consent, words)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("consent", "words", "message", "advice"),
    [
        (Consent(), "", "not confirmed: nothing was sent", "add --yes"),
        (RIGHT, "", "not confirmed: nothing was sent", "add --yes"),
        (Consent(), "turns", "not confirmed: nothing was sent", "add --confirm 'turns'"),
        (YES, "turns", "not confirmed: nothing was sent", "add --confirm 'turns'"),
        (WRONG, "turns", "--confirm 'turn' does not match the text to confirm: nothing was sent",
         "add --confirm 'turns'"),
    ],
)  # fmt: skip
async def test_without_a_terminal_the_error_names_the_option(
    consent: Consent, words: str, message: str, advice: str
) -> None:
    with pytest.raises(NotConfirmed) as refused:
        await asked(consent, words)
    assert (refused.value.message, refused.value.advice) == (message, advice)


async def test_a_command_that_prints_json_never_asks(keyboard: int) -> None:
    del keyboard
    with pytest.raises(NotConfirmed):
        await asked(Consent(), may_ask=False)


@pytest.mark.parametrize(
    ("keys", "words"),
    [(b"y\n", ""), (b" Yes \n", ""), (b"turns\n", "turns"), (b" turns\n", "turns")],
)  # fmt: skip
async def test_the_right_answer_at_the_terminal_is_consent(
    keyboard: int, keys: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await answered(keyboard, keys, words)
    out = capsys.readouterr().out
    assert out == ("drain turns? type turns to confirm: " if words else "drain turns? [y/N] ")


@pytest.mark.parametrize(
    ("keys", "words"),
    [(b"\n", ""), (b"n\n", ""), (b"\x04", ""), (b"y\n", "turns"), (b"\n", "turns"),
     (b"turn\n", "turns"), (b"\x04", "turns")],
)  # fmt: skip
async def test_another_answer_and_the_end_of_the_input_are_a_no(
    keyboard: int, keys: bytes, words: str
) -> None:
    with pytest.raises(NotConfirmed, match="not confirmed: nothing was sent"):
        await answered(keyboard, keys, words)


async def test_text_typed_before_the_question_is_not_an_answer(keyboard: int) -> None:
    os.write(keyboard, b"y\n")
    await until(lambda: select.select([sys.stdin], [], [], 0)[0], "the terminal took it in")
    with pytest.raises(NotConfirmed):
        await answered(keyboard, b"n\n")


async def test_half_a_line_does_not_stop_the_event_loop(keyboard: int) -> None:
    """Beats of links go on while the operator thinks, in whatever mode the terminal is."""
    tty.setcbreak(sys.stdin.fileno())
    asking = asyncio.create_task(asked(Consent()))
    await asyncio.sleep(0.05)
    os.write(keyboard, b"y")
    await until(lambda: not select.select([sys.stdin], [], [], 0)[0], "half a line is read")
    assert not asking.done()
    os.write(keyboard, b"\n")
    await asking


# Each command that needs no eval


@pytest.fixture
def ready(home: Home) -> Iterator[Home]:
    """A home with a machine, a production machine, a spec and a secret.

    Its machines show the evals of one folder, and not those of other tests.
    """
    with short_folder() as own:
        home.configure(
            machine("here", own, ["env"]) + machine("prod", own, ["env"]) + "production = true\n"
        )
        (home.folder / "s.toml").write_text(SMOKE.replace('"local"', '"here"'))
        (home.folder / "fetched.toml").write_text(SMOKE + 'inspect = "0.3.285"\n')
        subprocess.run(
            [*EVALROOM, "secrets", "set", "A_KEY"], env=home.env, cwd=home.folder, input=b"x",
            check=True, capture_output=True, timeout=WAIT_S,
        )  # fmt: skip
        yield home


COMMANDS = (
    ("launch", "s.toml"),
    ("launch", "s.toml", "--set", "machine=prod"),
    ("machines", "prepare", "here", "fetched.toml"),
    ("secrets", "delete", "A_KEY"),
)
NEEDS = (
    (COMMANDS[0], "--yes", "nothing was launched"),
    (COMMANDS[1], "--confirm 'prod'", "nothing was launched"),
    (COMMANDS[2], "--yes", "nothing was downloaded"),
    (COMMANDS[3], "--yes", "A_KEY was not deleted"),
)
"""Each command, the option that it asks for, and what does not happen without it."""


@pytest.mark.parametrize(("words", "how", "otherwise"), NEEDS)
def test_each_command_without_a_terminal_does_nothing_and_names_the_option(
    ready: Home, words: tuple[str, ...], how: str, otherwise: str
) -> None:
    for ran in (ready.run(*words), ready.run_closed(*words)):
        assert ran.status == 4, ran
        assert ran.err == f"evalroom: not confirmed: {otherwise}\n  add {how}\n"
    if "--confirm" in how:
        for more in (("--yes",), ("--confirm", "other")):
            wrong = ready.run(*words, *more)
            assert (wrong.status, f"add {how}" in wrong.err) == (4, True)
    printed = ready.run(*words, "--json")
    assert printed.status == 4
    assert json.loads(printed.out)["error"]["advice"] == f"add {how}"
    assert not (ready.folder / ".evalroom").exists()
    assert "A_KEY" in ready.run("secrets", "list").out


@pytest.mark.parametrize(("keys", "status"), [("n\r", 4), ("\x04", 4), ("\x03", 130)])
@pytest.mark.parametrize("words", COMMANDS)
def test_each_command_at_a_terminal_takes_a_no_an_end_and_ctrl_c(
    ready: Home, words: tuple[str, ...], keys: str, status: int
) -> None:
    terminal = Terminal((*EVALROOM, *words), env=ready.env, cwd=ready.folder)
    try:
        terminal.until("? type prod to confirm: " if "machine=prod" in words else "? [y/N] ")
        terminal.type(keys)
        assert terminal.wait_end() == status
    finally:
        terminal.close()
    assert not (ready.folder / ".evalroom").exists()


def test_a_yes_at_a_terminal_does_it(ready: Home) -> None:
    words = ("secrets", "delete", "A_KEY")
    terminal = Terminal((*EVALROOM, *words), env=ready.env, cwd=ready.folder)
    try:
        terminal.until("delete the secret A_KEY? [y/N] ")
        terminal.type("y\r")
        terminal.until("A_KEY was deleted")
        assert terminal.wait_end() == 0
    finally:
        terminal.close()


@pytest.mark.parametrize(
    ("has_ended", "consent", "is_enough"),
    [
        (True, YES, True),
        (True, Consent(confirm=("one",)), False),
        (False, YES, False),
        (False, Consent(confirm=("one",)), True),
        (False, Consent(confirm=("two",)), False),
        (False, Consent(), False),
    ],
)
async def test_a_session_whose_eval_runs_is_ended_by_its_name(
    has_ended: bool, consent: Consent, is_enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = TmuxSession(
        name="one", created=NOW, attached=0, has_ended=has_ended, status=0, run="r1"
    )
    ended: list[str] = []

    async def found(desk: Any, timeout: float) -> tuple[MachineSession, ...]:
        del desk, timeout
        return (MachineSession(MachineName("h100-1"), session),)

    async def end_session(worker: Any, each: MachineSession) -> None:
        del worker
        ended.append(each.session.name)

    monkeypatch.setattr(sessions, "_found", found)
    monkeypatch.setattr(sessions, "end_on_machine", end_session)
    desk: Any = None
    command = EndSessionCommand(name="one", consent=consent, timeout=1.0)
    if is_enough:
        assert await end_one(desk, command) == 0
    else:
        with pytest.raises(NotConfirmed, match="the session was not ended"):
            await end_one(desk, command)
    assert ended == (["one"] if is_enough else [])
