"""The hand-shake: how a Python program of ours comes to run behind any login shell.

Every start runs the bare word `/bin/sh`. The desk writes one line that replaces that shell by
Python, waits for `ready NONCE`, then writes `NONCE SIZE` and the program. Nothing is sent
ahead of `ready`: dash and rc files read ahead and would swallow it. A line that was swallowed
is sent again; what Python reads before `NONCE` it skips, so one line too many does no harm.
"""

import asyncio
import secrets
from dataclasses import dataclass

from core.errors import LinkLost, LinkRefused, MachineError, ProbeBroken
from core.ids import MachineName
from core.text import shown
from ssh.links.link import Link, Program
from ssh.links.shell import command_line, program_word

TRIES = 3
"""How often the line is sent, all in all."""
EACH = 2.0
"""Seconds of waiting for `ready` after each line but the last."""
LAST = 6.0
"""Seconds after the last one."""
MAX_NOISE = 1024 * 1024
"""Most bytes before `ready`; more is no greeting but a flood."""
KEPT_ERROR = 4096

_BOOT = (
    "import sys;n={first!r}+{second!r};v=sys.version_info;o=sys.stdout;"
    'v<(3,8)and(o.write("old "+n+" %d.%d\\n"%(v[0],v[1])),o.flush(),sys.exit(3));'
    'o.write("ready "+n+"\\n");o.flush();i=sys.stdin.buffer;'
    'l=next((l for l in i if l.startswith((n+" ").encode())),None)or sys.exit(4);'
    'exec(compile(i.read(int(l.split()[1])),"evalroom","exec"),'
    '{{"__name__":"__main__","__builtins__":__builtins__}})'
)


@dataclass(frozen=True, slots=True)
class ErrorTail:
    """The end of what a program wrote to its standard error, for messages."""

    data: bytearray

    def add(self, data: bytes) -> None:
        """Keep `data`, and no more than the last 4 KiB of all."""
        self.data.extend(data)
        del self.data[:-KEPT_ERROR]

    def text(self) -> str:
        """Return it as untrusted text, the last lines first cut to 300 characters."""
        return bytes(self.data).decode(errors="replace").strip()[-300:]


def start_line(python: str, nonce: str, arguments: tuple[str, ...]) -> str:
    """Return the line that replaces a POSIX shell by Python that waits for a program.

    The nonce stands in it in two halves, so that a shell that echoes its input is not taken
    for a Python that is ready. `-I` keeps files of the home folder from posing as modules.

    Raises:
        UsageWrong: `python` or an argument can't be a word.
    """
    half = len(nonce) // 2
    boot = _BOOT.format(first=nonce[:half], second=nonce[half:])
    boot = boot.replace("'", '"')
    return f"exec {program_word(python)} -u -I -c '{boot}' {command_line(arguments)}\n"


async def shake_hands(
    machine: MachineName,
    link: Link,
    program: Program,
    *,
    python: str,
    source: bytes,
    arguments: tuple[str, ...],
    errors: ErrorTail,
) -> bytes:
    """Bring `source` to run in `python` and return what already came after `ready`.

    Args:
        machine: For messages.
        link: Where `program` runs; it may know what a failure means.
        program: A fresh `/bin/sh`.
        python: The interpreter's name or path over there.
        source: The program, for Python 3.8 or newer.
        arguments: Its command line, seen in `ps` over there.
        errors: What `program` wrote to its standard error; somebody else fills it.

    Raises:
        LinkRefused: There is no such Python, it is too old, or the account runs no programs.
        ProbeBroken: It never became ready.
        LinkLost: The link went meanwhile.
    """
    nonce = secrets.token_hex(12)
    line = start_line(python, nonce, arguments).encode()
    ready, old = f"ready {nonce}\n".encode(), f"old {nonce} ".encode()
    noise = bytearray()
    for attempt in range(TRIES):
        try:
            await program.write(line)
        except LinkLost:
            # A program that ended at once may close its input before or after it is written to.
            raise await _why_not(
                machine, link, program, python=python, noise=noise, errors=errors, old=old
            ) from None
        try:
            async with asyncio.timeout(LAST if attempt == TRIES - 1 else EACH):
                while ready not in noise:
                    data = await program.read()
                    if not data:
                        raise await _why_not(
                            machine,
                            link,
                            program,
                            python=python,
                            noise=noise,
                            errors=errors,
                            old=old,
                        )
                    noise += data
                    if len(noise) > MAX_NOISE:
                        raise ProbeBroken(
                            machine,
                            f"the login shell on {machine} prints without an end",
                            "look at its rc files: something there writes when it should not",
                        )
        except TimeoutError:
            continue
        await program.write(f"{nonce} {len(source)}\n".encode() + source)
        return bytes(noise[noise.index(ready) + len(ready) :])
    raise ProbeBroken(
        machine,
        f"no Python came up on {machine} within {EACH * (TRIES - 1) + LAST:.0f} s",
        "look at the rc files of its login shell: something there may read the input",
    )


_NOT_EXECUTABLE, _NOT_FOUND = 126, 127


async def _why_not(
    machine: MachineName,
    link: Link,
    program: Program,
    *,
    python: str,
    noise: bytearray,
    errors: ErrorTail,
    old: bytes,
) -> MachineError:
    try:
        async with asyncio.timeout(3.0):
            status = await program.wait()
            await asyncio.sleep(0.05)  # lets the reader of the errors take the rest
    except TimeoutError:
        status = None
    said = shown(errors.text() or bytes(noise).decode(errors="replace").strip()[-300:], 300)
    known = link.explain(status, errors.text())
    if known is not None:
        return known
    if old in noise:
        version = (
            bytes(noise[noise.index(old) + len(old) :]).split(b"\n")[0].decode(errors="replace")
        )
        return LinkRefused(
            machine,
            f"{python} on {machine} is Python {shown(version, 20)}; the probe needs 3.8 or newer",
            f"name a newer interpreter as `python` of {machine} in the config",
        )
    if status in {_NOT_EXECUTABLE, _NOT_FOUND} or "nknown option: -I" in said:
        return LinkRefused(
            machine,
            f"{python} can't be run on {machine}: {said or f'exit {status}'}",
            f"name an interpreter that is there as `python` of {machine} in the config",
        )
    if status is None:
        return ProbeBroken(machine, f"the connection to {machine} ended while the probe started")
    return LinkRefused(
        machine,
        f"the account on {machine} runs no programs (exit {status}): {said or 'it says nothing'}",
        "its login shell must be able to run /bin/sh",
    )
