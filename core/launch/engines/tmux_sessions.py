"""The sessions of evalroom's own tmux server: names, commands, and the parsed list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

TMUX_COMMAND = ("tmux", "-u", "-L", "evalroom")
"""Addresses our server; `-u` because a login over ssh often has no locale, and displays need
UTF-8."""
MAX_NAME_CHARS = 60
"""Longest name of a session, characters."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_OTHER = re.compile(r"[^A-Za-z0-9_]+")
_FIELDS = (
    "#{session_created} #{session_attached} #{pane_dead} =#{pane_dead_status} =#{@run} "
    "#{session_name}"
)
"""One line for each pane. The name comes last: a session made by hand may have spaces in it."""
_GONE = ("can't find session", "can't find pane", "no server running", "error connecting to")


@dataclass(frozen=True, slots=True, kw_only=True)
class TmuxSession:
    """A session of our server on a machine. Its text comes from a host, untrusted.

    Attributes:
        created: Unix seconds by the machine's clock.
        attached: How many terminals show it now.
        has_ended: Whether every program in it has ended.
        status: Exit status of the ended program; None: it still runs, a signal ended it, or
            tmux does not know it. Before version 3.5, tmux may lose it for good.
        run: Id of its run; None: someone made the session by hand.
    """

    name: str
    created: float
    attached: int
    has_ended: bool
    status: int | None
    run: str | None


def session_name(run: str, task: str) -> str:
    """Return the name of a run's session: the task's short name, and the end of the run's id.

    It has only characters that neither tmux (`:` and `.`) nor a shell treats specially.

    Args:
        run: The run's id.
        task: The task as the spec names it.
    """
    own = re.split(r"[/@]", task)[-1].removesuffix(".py")
    tail = run.rpartition("-")[2]
    known = _OTHER.sub("-", own)[: MAX_NAME_CHARS - len(tail) - 1].strip("-_")
    return f"{known or 'run'}-{tail}"


def is_session_gone(err: str) -> bool:
    """Whether a command failed because its session, or the whole server, has ended."""
    return any(each in err for each in _GONE)


def is_session_name(name: str) -> bool:
    """Whether this can be the name of one of our sessions."""
    return _NAME.fullmatch(name) is not None


def attach_command(name: str) -> tuple[str, ...]:
    """Return the command that shows a session in a terminal of its machine."""
    return (*TMUX_COMMAND, "attach-session", "-t", f"={name}")


def viewing_command(attach: Sequence[str]) -> tuple[str, ...] | None:
    """Return the command that shows what `attach_command` shows, and passes no key to the program.

    Returns:
        None: the words are not those of `attach_command`.
    """
    *tmux, verb, flag, target = attach if len(attach) > 2 else ("", "", "")  # noqa: PLR2004
    if tuple(tmux) != TMUX_COMMAND or (verb, flag) != ("attach-session", "-t"):
        return None
    return (*TMUX_COMMAND, "attach-session", "-r", "-t", target)


def display_command(attach: tuple[str, ...], *, read_only: bool) -> tuple[str, ...]:
    """Return the command that shows a run's display; on a read-only machine it takes no input.

    Args:
        attach: The run's attach command; empty: it has none.
        read_only: Whether the machine is read-only.

    Returns:
        Empty if the run has no such command.
    """
    return (viewing_command(attach) or ()) if read_only else attach


def screen_command(name: str) -> tuple[str, ...]:
    """Return the command that prints a session's screen and its scrollback."""
    return (*TMUX_COMMAND, "capture-pane", "-p", "-S", "-", "-t", f"={name}:")


def list_command() -> tuple[str, ...]:
    """Return the command that lists all sessions; it fails if the server does not run."""
    return (*TMUX_COMMAND, "list-panes", "-a", "-F", _FIELDS)


def end_command(name: str) -> tuple[str, ...]:
    """Return the command that ends a session and every program in it."""
    return (*TMUX_COMMAND, "kill-session", "-t", f"={name}")


def parse_sessions(listed: str) -> tuple[TmuxSession, ...]:
    """Return the sessions in the output of `list_command`, oldest first; skip other lines."""
    found: dict[str, TmuxSession] = {}
    for line in listed.splitlines():
        pane = _pane(line)
        if pane is None:
            continue
        other = found.get(pane.name)
        if other is None or (other.has_ended and not pane.has_ended):
            found[pane.name] = pane
    return tuple(sorted(found.values(), key=lambda each: (each.created, each.name)))


def _pane(line: str) -> TmuxSession | None:
    parts = line.split(" ", 5)
    if len(parts) < 6 or not parts[5]:  # noqa: PLR2004 - the six fields above
        return None
    created, attached, dead, status, run, name = parts
    if not (_is_number(created) and _is_number(attached) and dead in {"0", "1"}):
        return None
    has_ended = dead == "1"
    status, run = status.removeprefix("="), run.removeprefix("=")
    return TmuxSession(
        name=name,
        created=float(created),
        attached=int(attached),
        has_ended=has_ended,
        status=int(status) if has_ended and _is_number(status) else None,
        run=run or None,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12  # noqa: PLR2004 - sane


def end_effect(session: TmuxSession) -> str:
    """Return what would happen if the session ended now, a sentence without its full stop."""
    if session.has_ended:
        return "its eval has ended: its last screen will be lost, its logs stay"
    return "its eval is still running and will be killed: samples not yet in its log will be lost"


def switch_command(attach: tuple[str, ...], tmux: str) -> tuple[str, ...] | None:
    """Return the command that shows a run's session within a tmux client that already runs.

    Args:
        attach: The run's attach command.
        tmux: The client's variable TMUX: the socket of its server, a comma, more fields.

    Returns:
        None: the session is on another server, or the run has no session.
    """
    *command, target = attach or ("",)
    server = tmux.partition(",")[0].rpartition("/")[2]
    if tuple(command) != attach_command("")[:-1] or server != TMUX_COMMAND[-1]:
        return None
    return ("tmux", "switch-client", "-t", target)
