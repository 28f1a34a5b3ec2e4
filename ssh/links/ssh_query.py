"""Asks the installed ssh how it reads its config: `ssh -G` prints the options, and no more."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence

from ssh.links.config_parser import Options

QUERY_TIMEOUT_S = 10.0
"""How long `ssh -G` may take, seconds: a `Match exec` runs programs, a canonical name needs DNS."""
_WITHOUT_QUERY_TEXTS = (
    "usage:",
    "unknown option --",
    "illegal option --",
    "invalid option --",
    "no user exists for uid",
)
_UNRESOLVED_TEXT = "Could not resolve"
_NOT_BATCH = ("-o", "BatchMode=no")
"""Debian's ssh changes ServerAliveInterval in batch mode, as if someone had set it."""
_NOISE = ("Pseudo-terminal will not be allocated", "terminating, ")


class NoSshToAsk(Exception):
    """No ssh is installed, it has no `-G`, or it does not run as this user."""


class SshRejected(Exception):
    """ssh can't use its config; the text is its own: what is wrong, with file and line.

    Attributes:
        may_pass: Whether it is the network's fault: a canonical name that did not resolve.
    """

    @property
    def may_pass(self) -> bool:
        """See above."""
        return _UNRESOLVED_TEXT in str(self)


async def ask_ssh(
    words: Sequence[str], *, program: str = "ssh", environment: Mapping[str, str] | None = None
) -> Options:
    """Return the options that ssh would use with the arguments `words`.

    Args:
        words: The arguments of ssh.
        program: The ssh to ask.
        environment: Its environment; None: that of evalroom.

    Raises:
        NoSshToAsk: It can't be asked.
        SshRejected: It can't use its config.
        TimeoutError: It did not answer within `QUERY_TIMEOUT_S`.
    """
    try:
        child = await asyncio.create_subprocess_exec(
            program,
            "-T",
            "-G",
            *_NOT_BATCH,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    except (OSError, ValueError) as error:
        raise NoSshToAsk(str(error)) from error
    try:
        async with asyncio.timeout(QUERY_TIMEOUT_S):
            out, err = await child.communicate()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
    if child.returncode == 0:
        return read_options(out.decode(errors="surrogateescape"))
    complaint = err.decode(errors="replace")
    if any(text in complaint.lower() for text in _WITHOUT_QUERY_TEXTS):
        raise NoSshToAsk(complaint)
    lines = [line.strip() for line in complaint.splitlines()]
    reasons = [line for line in lines if line and not any(noise in line for noise in _NOISE)]
    raise SshRejected(" ".join(reasons) or f"ssh -G ended with exit {child.returncode}")


def read_options(text: str) -> Options:
    """Return the options that `ssh -G` printed; a repeated option has several values."""
    options: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        options.setdefault(name.lower(), []).append(value)
    return {name: tuple(values) for name, values in options.items()}
