"""Signing in to a machine whose own ssh has to ask: the room lends it the terminal."""

from shlex import join

from core.model.machine import LinkState, Machine
from core.ports import Room, SignIn
from core.text import Shown, shown
from tui.terminal.foreground import ProgramEnd
from tui.ui import Ui

SSH_FAILED = 255
"""The exit status by which ssh says that it failed itself, not what it ran over there."""
NOT_KEPT = (
    "but keeps no connection for the link: give its command ControlMaster=auto, a ControlPath "
    "and ControlPersist"
)


def needs_operator(machine: Machine) -> bool:
    """Whether a machine's link waits for the operator."""
    return machine.link.state in {LinkState.NEEDS_YOU, LinkState.NEEDS_TRUST}


async def retry_or_sign_in(ui: Ui, room: Room, machine: Machine) -> None:
    """Try a machine's link at once; where its ssh has to ask, run that in the foreground first."""
    found = await room.sign_in(machine.name) if needs_operator(machine) else None
    if found is None:
        room.retry(machine.name)
        ui.say(f"trying {machine.name} now")
        return
    ended = await ui.run_in_foreground(found.words, line_of(machine, found))
    if ended is None:
        ui.say(f"this terminal can't be lent; run in another one: {join(found.words)}", "look")
    elif (failure := failure_of(machine, found, ended)) is not None:
        ui.say(failure, "look")
    else:
        room.retry(machine.name)
        if found.is_kept:
            ui.say(f"signed in to {machine.name}; its link is tried now")
        else:
            ui.say(f"{found.words[0]} signed in to {machine.name}, {NOT_KEPT}", "look")


def line_of(machine: Machine, found: SignIn) -> Shown:
    """Return what the terminal says first: what runs, and why."""
    return shown(
        f"To sign in to {machine.name}, evalroom runs this here (Ctrl+C gives up): "
        f"{join(found.words)}",
        2_000,
    )


def failure_of(machine: Machine, found: SignIn, ended: ProgramEnd) -> str | None:
    """Return why nobody is signed in; None: somebody is, whatever the program over there said."""
    program = found.words[0]
    if ended.never_ran is not None:
        return f"{program} can't be run here: {ended.never_ran}"
    if ended.was_given_up:
        return f"signing in to {machine.name} was given up; r tries again"
    if ended.status is None:
        return f"{program} was ended by a signal; {machine.name} still needs you"
    if ended.status == SSH_FAILED:
        return f"{program} did not sign in to {machine.name}; r tries again"
    return None
