"""Attaching: a program's own terminal beside the room, or in its place, while the room goes on.

Inside tmux it gets a window of its own, or takes the place of the room's tmux until it is left;
outside of tmux the room lends its terminal.
"""

import asyncio
import os
import re
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from core.config.model import AttachWay, MachineConfig
from core.errors import UsageWrong
from core.ids import MachineName
from core.launch.engines.tmux_sessions import switch_command
from core.launch.run.attach_command import is_here, terminal_command
from core.model.run import Run
from core.quoting import command_line, plain_word, quoted
from core.text import Shown, shown
from tui.services import AttachSettings
from tui.ui import Ui

TMUX_ANSWERS = 10.0
"""Seconds within which a tmux that is asked for a window answers."""
LEAVE_TMUX = "C-b d goes back to the room"
_DOUBLED = "where the prefix of your own tmux is C-b too, press C-b twice: the inner one hears that"
_NOT_HERE = "the config names no machine of this run: nothing says how to reach it"
_NOTHING = "there is nothing to attach to: its engine gives a run no display"
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_WAITS = "printf '\\nEnter closes this.\\n'; read -r _"


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalOpening:
    """How a program gets a terminal.

    Attributes:
        words: What is run here.
        is_lent: Whether they need the room's own terminal until they end; else they end at once.
        note: How the operator comes back.
    """

    words: tuple[str, ...]
    is_lent: bool
    note: str


def opening(
    machine: MachineConfig,
    program: Sequence[str],
    *,
    title: str,
    leave: str,
    environ: Mapping[str, str],
    way: AttachWay,
    known_hosts: Sequence[str] = (),
) -> TerminalOpening:
    """Return how a program on a machine gets its terminal.

    Args:
        machine: Where it runs.
        program: It and its arguments.
        title: The name of a new window.
        leave: How an operator leaves it.
        environ: The room's own variables: TMUX says whether it is inside one.
        way: What the config wants inside tmux; only a program of this computer is switched to.
        known_hosts: As `terminal_command`.

    Raises:
        UsageWrong: A word holds what no argument can.
    """
    words = terminal_command(machine, program, known_hosts=known_hosts)
    tmux = environ.get("TMUX", "")
    if not tmux:
        return TerminalOpening(words=words, is_lent=True, note=leave)
    local = is_here(machine)
    same_server = switch_command(tuple(program), tmux) if local else None
    if same_server is not None:
        return TerminalOpening(words=same_server, is_lent=False, note="C-b L goes back to the room")
    # A tmux refuses to start within one that it knows of; its sockets are where the room's are.
    folder = environ.get("TMUX_TMPDIR")
    kept = f"export TMUX_TMPDIR={quoted(folder)}; " if folder else ""
    script = f"unset TMUX TMUX_PANE; {kept}{command_line(words)} || {{ {_WAITS}; }}"
    if way == "switch" and local:
        there = f"{script}; exec {_own_session(tmux)}"
        return TerminalOpening(
            words=("tmux", "detach-client", "-E", there), is_lent=False, note=leave
        )
    name = _NOT_OF_A_NAME.sub("-", title)[:40]
    return TerminalOpening(
        words=("tmux", "new-window", "-n", name, "/bin/sh", "-c", script),
        is_lent=False,
        note=f"{leave}; {_DOUBLED}" if program[0] == "tmux" else leave,
    )


def _own_session(tmux: str) -> str:
    """Return the command that comes back to the session that TMUX tells of."""
    socket, _, rest = tmux.partition(",")
    session = rest.partition(",")[2]
    target = ("-t", f"${session}") if session else ()
    return command_line(("tmux", "-S", socket, "attach-session", *target))


class AttachController:
    """Opens terminals beside the app, or in its place.

    Args:
        ui: The app.
        settings: How machines are reached, and what the config wants inside tmux.
        environ: The app's variables; None: those of this process.
    """

    def __init__(
        self, ui: Ui, settings: AttachSettings, *, environ: Mapping[str, str] | None = None
    ) -> None:
        self._ui = ui
        self._machines = {each.name: each for each in settings.machines}
        self._way: AttachWay = settings.way
        self._known_hosts = tuple(settings.known_hosts)
        self._environ = os.environ if environ is None else environ
        self._is_opening = False

    def attach(self, run: Run) -> None:
        """Show a run's own display, beside the keys."""
        self.open(run.machine, run.attach, title=f"run-{run.id[-8:]}", leave=LEAVE_TMUX)

    def open(self, machine: MachineName, words: Sequence[str], *, title: str, leave: str) -> None:
        """Run a program on a machine in a terminal, beside the keys; one at a time.

        Args:
            machine: Where; one that the config does not name is said to be none.
            words: The program and its arguments; empty: there is none, and that is said.
            title: What it is, for a window's name.
            leave: How the operator leaves it, a sentence without its end.
        """
        known = self._machines.get(machine)
        if known is None or not words:
            self._ui.say(_NOT_HERE if known is None else _NOTHING, "look")
            return
        try:
            found = opening(
                known,
                words,
                title=title,
                leave=leave,
                environ=self._environ,
                way=self._way,
                known_hosts=self._known_hosts,
            )
        except UsageWrong as error:
            self._ui.say(error.message, "look")
            return
        if not self._is_opening:
            self._is_opening = True
            work = self._lend(found) if found.is_lent else self._ask_tmux(found)
            self._ui.background(self._opened(work), "attaching")

    async def _opened(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        finally:
            self._is_opening = False

    async def _lend(self, found: TerminalOpening) -> None:
        line = shown(f"The room goes on behind this; {found.note}: {_said(found.words)}", 2_000)
        ended = await self._ui.run_in_foreground(found.words, line)
        if ended is None:
            said = f"this terminal can't be lent; run in another one: {_said(found.words)}"
            self._ui.say(said, "look")
        elif ended.never_ran is not None:
            self._ui.say(f"{found.words[0]} can't be run here: {ended.never_ran}", "look")

    async def _ask_tmux(self, found: TerminalOpening) -> None:
        why = await _run(found.words, self._environ)
        if why is None:
            self._ui.say(found.note)
        else:
            self._ui.say(f"tmux opened nothing: {why}", "look")


async def _run(words: Sequence[str], environ: Mapping[str, str]) -> Shown | None:
    """Run a short command without a terminal; return why it failed, None: it did not."""
    try:
        child = await asyncio.create_subprocess_exec(
            *words,
            env=dict(environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        return shown(error.strerror or type(error).__name__)
    try:
        async with asyncio.timeout(TMUX_ANSWERS):
            out, _ = await child.communicate()
    except TimeoutError:
        return Shown("it does not answer")
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode == 0:
        return None
    return shown(out.decode(errors="replace").strip() or f"exit status {child.returncode}")


def _said(words: Sequence[str]) -> Shown:
    return shown(" ".join(plain_word(word) for word in words), 1_500)
