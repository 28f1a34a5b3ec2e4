"""The command that an operator runs in the terminal to sign in for a command link.

The link's own ssh runs in BatchMode and never asks. The same command without BatchMode asks for
a passphrase, a code, a touch or a host key, and leaves a ControlMaster open that the link uses.
"""

import os

from core.ports import SignIn
from ssh.links.agent import present_agent
from ssh.links.resolved_host import AGENT_VARIABLE
from ssh.links.ssh_command import (
    effective_options,
    is_ssh,
    link_options,
    option_words,
    unlent_options,
)

CONTROL_PERSIST = "10m"
"""How long an idle ControlMaster stays open where ssh_config sets no time."""
_OFF = {("false",), ("no",)}


async def sign_in_for(command: tuple[str, ...]) -> SignIn | None:
    """Return the command that signs in for the link of `command`; None: it is not an ssh.

    Connects to nothing: `ssh -G` only prints the options that the command and ssh_config result in.
    """
    if not is_ssh(command):
        return None
    effective = await effective_options(command)
    unlent = unlent_options(command, effective)
    options = {"BatchMode": "no", **link_options(effective), **unlent}
    has_path = effective.get("controlpath", ("none",))[0] != "none"
    if has_path and effective.get("controlmaster") in _OFF:
        options["ControlMaster"] = "auto"
    if has_path and effective.get("controlpersist") in _OFF:
        options["ControlPersist"] = CONTROL_PERSIST
    words = (command[0], "-T", *option_words(options), *command[1:], "true")
    agent = await present_agent(effective.get("identityagent", (None,))[0])
    if agent.keys and agent.path != os.environ.get(AGENT_VARIABLE):
        words = ("env", f"{AGENT_VARIABLE}={agent.path}", *words)
    return SignIn(words=words, is_kept=has_path)
