"""Signing in to a machine whose own ssh has to ask: the room lends it the terminal."""

from shlex import join
from typing import TYPE_CHECKING

from core.model.machine import LinkState, Machine
from core.ports import SignIn
from core.text import Shown, shown

if TYPE_CHECKING:
    from tui.app import RoomApp
    from tui.terminal.foreground import Ended

SSH_FAILED = 255
"""The exit status by which ssh says that it failed itself, not what it ran over there."""
NOT_KEPT = (
    "but keeps no connection for the link: give its command ControlMaster=auto, a ControlPath "
    "and ControlPersist"
)


def needs_operator(machine: Machine) -> bool:
    """Whether a machine's link waits for the operator."""
    return machine.link.state in {LinkState.NEEDS_YOU, LinkState.NEEDS_TRUST}


async def retry_or_sign_in(app: "RoomApp", machine: Machine) -> None:
    """Try a machine's link at once; where its ssh has to ask, run that in the foreground first."""
    found = await app.room.sign_in(machine.name) if needs_operator(machine) else None
    if found is None:
        app.room.retry(machine.name)
        app.say(f"trying {machine.name} now")
        return
    ended = await app.run_in_foreground(found.words, line_of(machine, found))
    if ended is None:
        app.say(f"this terminal can't be lent; run in another one: {join(found.words)}", "look")
    elif (failure := failure_of(machine, found, ended)) is not None:
        app.say(failure, "look")
    else:
        app.room.retry(machine.name)
        if found.is_kept:
            app.say(f"signed in to {machine.name}; its link is tried now")
        else:
            app.say(f"{found.words[0]} signed in to {machine.name}, {NOT_KEPT}", "look")


def line_of(machine: Machine, found: SignIn) -> Shown:
    """Return what the terminal says first: what runs, and why."""
    return shown(
        f"To sign in to {machine.name}, evalroom runs this here (Ctrl+C gives up): "
        f"{join(found.words)}",
        2_000,
    )


def failure_of(machine: Machine, found: SignIn, ended: "Ended") -> str | None:
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
