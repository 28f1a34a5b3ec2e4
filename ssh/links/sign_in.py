"""What a person runs in the foreground where the ssh of a command link has to ask.

A link's own ssh runs in BatchMode and asks nothing. The same words without it ask for a
passphrase, a code or a touch, or whether a host key is right, and leave a ControlMaster open
that the link then goes over.
"""

import asyncio
import contextlib
from pathlib import PurePath

from core.ports import SignIn

RESOLVING = 5.0
"""Seconds that ssh may take to say how it reads its configuration (`Match exec` runs programs)."""
KEPT_FOR = "10m"
"""How long a ControlMaster stays unused, where the configuration keeps it no time at all."""


async def sign_in_of(command: tuple[str, ...]) -> SignIn | None:
    """Return what signs in for the link that `command` starts; None: it can't be asked.

    Nothing is connected: `ssh -G` prints how these words are read together with ssh_config.
    """
    if not command or PurePath(command[0]).name != "ssh":
        return None
    options = {"BatchMode": "no"}  # the first word for a thing counts, also against ssh_config
    read = await _as_read(command)
    has_path = read.get("controlpath", "none") != "none"
    if has_path and read.get("controlmaster") in {"false", "no"}:
        options["ControlMaster"] = "auto"
    if has_path and read.get("controlpersist") in {"false", "no"}:
        options["ControlPersist"] = KEPT_FOR
    told = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return SignIn(words=(command[0], "-T", *told, *command[1:], "true"), is_kept=has_path)


async def _as_read(command: tuple[str, ...]) -> dict[str, str]:
    """Return ssh's own reading of its words and configuration; empty where it tells none."""
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
        async with asyncio.timeout(RESOLVING):
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
