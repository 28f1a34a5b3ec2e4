"""The command that an operator runs in the terminal to sign in for a command link.

The link's own ssh runs in BatchMode and never asks. The same command without BatchMode asks for
a passphrase, a code, a touch or a host key, and leaves a ControlMaster open that the link uses.
"""

import asyncio
import contextlib
from pathlib import PurePath

from core.ports import SignIn

SSH_G_TIMEOUT_S = 5.0
"""How long `ssh -G` may take, seconds: a `Match exec` in ssh_config runs programs."""
CONTROL_PERSIST = "10m"
"""How long an idle ControlMaster stays open where ssh_config sets no time."""


async def sign_in_for(command: tuple[str, ...]) -> SignIn | None:
    """Return the command that signs in for the link of `command`; None: it is not an ssh.

    Connects to nothing: `ssh -G` only prints the options that the command and ssh_config result in.
    """
    if not command or PurePath(command[0]).name != "ssh":
        return None
    options = {"BatchMode": "no"}  # ssh takes an option's first value, so these come first
    effective = await _effective_options(command)
    has_path = effective.get("controlpath", "none") != "none"
    if has_path and effective.get("controlmaster") in {"false", "no"}:
        options["ControlMaster"] = "auto"
    if has_path and effective.get("controlpersist") in {"false", "no"}:
        options["ControlPersist"] = CONTROL_PERSIST
    flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return SignIn(words=(command[0], "-T", *flags, *command[1:], "true"), is_kept=has_path)


async def _effective_options(command: tuple[str, ...]) -> dict[str, str]:
    """Return ssh's options for `command` as `ssh -G` prints them; empty if that fails."""
    try:
        child = await asyncio.create_subprocess_exec(
            command[0],
            "-G",
            *command[1:],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return {}
    try:
        async with asyncio.timeout(SSH_G_TIMEOUT_S):
            out, _ = await child.communicate()
    except TimeoutError:
        return {}
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    lines = (line.partition(" ") for line in out.decode(errors="replace").splitlines())
    return {name: value.strip() for name, _, value in lines}
