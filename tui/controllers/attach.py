"""Opens a program's own terminal while evalroom keeps running.

Inside tmux the program gets a new window, or replaces evalroom's tmux client until it is left.
Outside of tmux evalroom lends its terminal.
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

TMUX_TIMEOUT_S = 10.0
"""Timeout for a tmux command."""
LEAVE_TMUX = "C-b d returns to evalroom"
_DOUBLED = "if your own tmux also uses C-b, press C-b twice to reach the inner one"
_NOT_HERE = "The config does not name this run's machine, so evalroom can't reach it."
_NOTHING = "This run has no terminal to attach to: only the tmux engine provides one."
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_WAITS = "printf '\\nEnter closes this.\\n'; read -r _"


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalOpening:
    """How a program gets a terminal.

    Attributes:
        words: The command that runs on this computer.
        is_lent: Whether it needs evalroom's own terminal until it ends; else it ends at once.
        note: How the operator returns to evalroom.
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
        program: The program and its arguments.
        title: The name of a new window.
        leave: How the operator leaves the program.
        environ: evalroom's own variables; TMUX says whether it runs inside tmux.
        way: The config's choice inside tmux; `switch` works only for programs on this computer.
        known_hosts: As `terminal_command`.

    Raises:
        UsageWrong: A word contains a character that no argument can contain.
    """
    words = terminal_command(machine, program, known_hosts=known_hosts)
    tmux = environ.get("TMUX", "")
    if not tmux:
        return TerminalOpening(words=words, is_lent=True, note=leave)
    local = is_here(machine)
    # Within one server, the client would keep its right to type.
    can_switch = local and not machine.read_only
    same_server = switch_command(tuple(program), tmux) if can_switch else None
    if same_server is not None:
        return TerminalOpening(words=same_server, is_lent=False, note="C-b L returns to evalroom")
    # tmux refuses to start inside tmux; TMUX_TMPDIR leads to the sockets of the outer one.
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
    """Return the command that attaches to the session named by TMUX again."""
    socket, _, rest = tmux.partition(",")
    session = rest.partition(",")[2]
    target = ("-t", f"${session}") if session else ()
    return command_line(("tmux", "-S", socket, "attach-session", *target))


class AttachController:
    """Opens terminals in tmux windows, or in evalroom's own terminal.

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
        """Open a run's own terminal, in the background."""
        self.open(run.machine, run.attach, title=f"run-{run.id[-8:]}", leave=LEAVE_TMUX)

    def open(self, machine: MachineName, words: Sequence[str], *, title: str, leave: str) -> None:
        """Run a program on a machine in a terminal, in the background; one at a time.

        Args:
            machine: Where it runs; a message says if the config does not name this machine.
            words: The program and its arguments; a message says if they are empty.
            title: The name of a new window.
            leave: How the operator leaves the program, as a clause.
        """
        known = self._machines.get(machine)
        if known is None or not words:
            self._ui.say(_NOT_HERE if known is None else _NOTHING, "warning")
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
            self._ui.say(error.message, "warning")
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
        command = _command_line(found.words)
        line = f"evalroom keeps running in the background; {found.note}: {command}"
        ended = await self._ui.run_in_foreground(found.words, shown(line, 2_000))
        if ended is None:
            sentence = f"evalroom can't lend its terminal. Run this in another one: {command}"
            self._ui.say(sentence, "warning")
        elif ended.never_ran is not None:
            self._ui.say(f"{found.words[0]} can't be started here: {ended.never_ran}", "warning")

    async def _ask_tmux(self, found: TerminalOpening) -> None:
        why = await _run(found.words, self._environ)
        if why is None:
            self._ui.say(found.note)
        else:
            self._ui.say(f"tmux did not open a window: {why}", "warning")


async def _run(words: Sequence[str], environ: Mapping[str, str]) -> Shown | None:
    """Run a short command without a terminal; return why it failed, or None."""
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
        async with asyncio.timeout(TMUX_TIMEOUT_S):
            out, _ = await child.communicate()
    except TimeoutError:
        return Shown("it does not respond")
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode == 0:
        return None
    return shown(out.decode(errors="replace").strip() or f"exit status {child.returncode}")


def _command_line(words: Sequence[str]) -> Shown:
    return shown(" ".join(plain_word(word) for word in words), 1_500)
