"""Signing in to a machine whose ssh asks questions: evalroom lends ssh its terminal."""

from shlex import join

from core.model.machine import LinkState, Machine
from core.ports import Room, SignIn
from core.text import Shown, shown_lines
from tui.terminal.foreground import ProgramEnd
from tui.ui import Ui

SSH_FAILED = 255
"""The exit status of ssh when ssh itself failed, not the remote command."""
NOT_KEPT = (
    "but did not keep the connection open. Add ControlMaster=auto, a ControlPath and "
    "ControlPersist to its command"
)


def needs_operator(machine: Machine) -> bool:
    """Whether a machine's link waits for the operator."""
    return machine.link.state in {LinkState.NEEDS_YOU, LinkState.NEEDS_TRUST}


async def retry_or_sign_in(ui: Ui, room: Room, machine: Machine) -> None:
    """Retry a machine's link now; if its ssh asks questions, run it in the foreground first."""
    found = await room.sign_in(machine.name) if needs_operator(machine) else None
    if found is None:
        room.retry(machine.name)
        ui.say(f"Retrying {machine.name} now.")
        return
    ended = await ui.run_in_foreground(found.words, line_of(machine, found))
    if ended is None:
        ui.say(
            f"evalroom can't lend its terminal. Run this in another one: {join(found.words)}",
            "warning",
        )
    elif (failure := failure_of(machine, found, ended)) is not None:
        ui.say(failure, "warning")
    else:
        room.retry(machine.name)
        if found.is_kept:
            ui.say(f"Signed in to {machine.name}. Its link is retried now.")
        else:
            ui.say(f"{found.program} signed in to {machine.name}, {NOT_KEPT}.", "warning")


def line_of(machine: Machine, found: SignIn) -> Shown:
    """Return the line printed before the program runs: what runs, and why."""
    return shown_lines(
        f"To sign in to {machine.name}, evalroom runs this here (Ctrl+C gives up): "
        f"{join(found.words)}\n"
        f"{found.program} asks for passphrases of your keys itself. A line that begins with a name"
        " in parentheses, (USER@HOST), is the machine's own question: its answer is sent there.",
        2_000,
    )


def failure_of(machine: Machine, found: SignIn, ended: ProgramEnd) -> str | None:
    """Return why signing in failed; None if it succeeded, whatever the remote program returned."""
    program = found.program
    if ended.never_ran is not None:
        return f"{program} can't be started here: {ended.never_ran}"
    if ended.was_given_up:
        return f"Signing in to {machine.name} was cancelled. Press r to retry."
    if ended.status is None:
        return f"{program} was killed by a signal. {machine.name} still needs you."
    if ended.status == SSH_FAILED:
        return f"{program} did not sign in to {machine.name}. Press r to retry."
    return None
