"""The handshake that starts a Python program behind any login shell.

The link runs only `/bin/sh`. The desk writes one line that replaces this shell with Python, waits
for `ready NONCE`, then writes `NONCE SIZE` and the program, compressed: with bz2 if that Python has
it (`ready NONCE bz2`), else with zlib. It sends nothing before `ready`: dash and rc files read
ahead and would swallow it. A swallowed line is sent again; Python skips all input before `NONCE`,
so an extra line does no harm.

Python answers each chunk of the program with a mark. So a thin link may take minutes for it, and a
dead one is given up soon.
"""

import asyncio
import contextlib
import re
import secrets
import zlib
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import cast

from core.errors import LinkLost, LinkRefused, MachineError, ProbeBroken
from core.ids import MachineName
from core.quoting import command_line, program_word
from core.text import shown
from ssh.links.link import Link, Program
from ssh.read_pace import ReadPace

_MISSING_MODULE = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named '?([a-z_][a-z0-9_.]{0,60})'?"
)
"""Python's words about a module of its own that is not installed; its programs need no others."""
MAX_ATTEMPTS = 3
"""How often the line is sent at most."""
READY_TIMEOUT_S = 2.0
"""How long to wait for `ready` after each line but the last, seconds."""
LAST_READY_TIMEOUT_S = 6.0
"""How long to wait after the last line, seconds."""
MAX_NOISE_BYTES = 1024 * 1024
"""Most output before `ready`; more than that is not a greeting."""
MAX_ERROR_BYTES = 4096
ERROR_RATE_BYTES, ERROR_BURST_BYTES = 1024 * 1024, 8 * 1024 * 1024
"""Error output that is read: bytes per second, and at once."""
LATE_OUTPUT_TIMEOUT_S = 1.0
"""How long to wait for the rest of the output of a program that has ended, seconds."""
CHUNK_BYTES = 2048
"""Bytes of the program that each mark confirms."""
CHUNK_TIMEOUT_S = 15.0
"""How long the next mark may take, seconds: 2 kB at 1 kbit/s."""
TIMEOUT_S = READY_TIMEOUT_S * (MAX_ATTEMPTS - 1) + LAST_READY_TIMEOUT_S
"""How long the handshake may take in all, seconds."""

_BOOTSTRAP = (
    "import sys;n={first!r}+{second!r};v=sys.version_info;o=sys.stdout;"
    'v<(3,8)and(o.write("old "+n+" %d.%d\\n"%(v[0],v[1])),o.flush(),sys.exit(3));'
    'import zlib;exec("try:\\n import bz2\\nexcept ImportError:\\n bz2=None");'
    'o.write("ready "+n+(" bz2" if bz2 else "")+"\\n");o.flush();i=sys.stdin.buffer;'
    'l=next((l for l in i if l.startswith((n+" ").encode())),None)or sys.exit(4);'
    "s=int(l.split()[1]);"
    'b=b"".join([(i.read(min({chunk},s-k)),o.write("got "+n+"\\n"),o.flush())[0]'
    "for k in range(0,s,{chunk})]);"
    'exec(compile((bz2 if b[:3]==b"BZh" else zlib).decompress(b),"evalroom","exec"),'
    '{{"__name__":"__main__","__builtins__":__builtins__}})'
)


@dataclass(frozen=True, slots=True)
class ErrorTail:
    """The last bytes of a program's standard error, for messages."""

    data: bytearray
    _is_whole: asyncio.Event = field(default_factory=asyncio.Event)

    async def collect(self, program: Program) -> None:
        """Read a program's standard error to its end; the caller runs this in the background."""
        pace = ReadPace(rate=ERROR_RATE_BYTES, burst=ERROR_BURST_BYTES)
        while data := await program.read_error():
            self.add(data)
            await pace.after(len(data))
        self._is_whole.set()

    async def wait_whole(self) -> None:
        """Wait until `collect` has read the end: the program is over, so the end is on its way.

        Returns after `LATE_OUTPUT_TIMEOUT_S` in any case, since a child of the program may keep the
        stream open.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LATE_OUTPUT_TIMEOUT_S):
                await self._is_whole.wait()

    def add(self, data: bytes) -> None:
        """Append `data`; keeps only the last 4 KiB."""
        self.data.extend(data)
        del self.data[:-MAX_ERROR_BYTES]

    def text(self) -> str:
        """Return the last 300 characters, untrusted."""
        return bytes(self.data).decode(errors="replace").strip()[-300:]


def start_line(python: str, nonce: str, arguments: tuple[str, ...]) -> str:
    """Return the line that replaces a POSIX shell with a Python that waits for a program.

    The line holds the nonce in two halves: a shell that echoes its input must not look like a
    Python that is ready. `-I` stops Python from importing files of the home folder.

    Raises:
        UsageWrong: `python` or an argument can't be quoted for a shell.
    """
    half = len(nonce) // 2
    bootstrap = _BOOTSTRAP.format(first=nonce[:half], second=nonce[half:], chunk=CHUNK_BYTES)
    bootstrap = bootstrap.replace("'", '"')
    return f"exec {program_word(python)} -u -I -c '{bootstrap}' {command_line(arguments)}\n"


async def start_python(
    machine: MachineName,
    link: Link,
    program: Program,
    *,
    python: str,
    source: bytes,
    arguments: tuple[str, ...],
    errors: ErrorTail,
) -> bytes:
    """Run `source` in `python`; return once it is there, with the output that followed already.

    Args:
        machine: For messages.
        link: The link of `program`; it may be able to explain a failure.
        program: A new `/bin/sh`.
        python: The interpreter's name or path on the machine.
        source: The program, for Python 3.8 or newer.
        arguments: Its command line, as `ps` shows it on the machine.
        errors: The standard error of `program`; the caller keeps reading it in the background.

    Raises:
        LinkRefused: No such Python, too old, or the account can't run programs.
        ProbeBroken: Python did not become ready in time.
        LinkLost: The link was lost meanwhile, or is silent.
    """
    nonce = secrets.token_hex(12)
    line = start_line(python, nonce, arguments).encode()
    ready, old = re.compile(f"ready {nonce}( bz2)?(\r?)\n".encode()), f"old {nonce} ".encode()
    noise = bytearray()
    last = LAST_READY_TIMEOUT_S + link.login_timeout
    for timeout in (*(MAX_ATTEMPTS - 1) * (READY_TIMEOUT_S,), last):
        try:
            await program.write(line)
        except LinkLost:
            # A program that ended at once may close its input before or during the write.
            raise await _start_error(
                machine, link, program, python=python, noise=noise, errors=errors, old=old
            ) from None
        try:
            async with asyncio.timeout(timeout):
                while (found := ready.search(noise)) is None:
                    data = await program.read()
                    if not data:
                        raise await _start_error(
                            machine,
                            link,
                            program,
                            python=python,
                            noise=noise,
                            errors=errors,
                            old=old,
                        )
                    noise += data
                    if len(noise) > MAX_NOISE_BYTES:
                        raise ProbeBroken(
                            machine,
                            f"the login shell on {machine} printed over 1 MiB before Python ran",
                            "check its rc files (.bashrc, .profile) for a command that prints",
                        )
        except TimeoutError:
            continue
        if found[2]:
            raise _terminal_error(machine)
        packed = compressed(source, has_bz2=found[1] is not None)
        rest = noise[found.end() :]
        return await _send_source(machine, program, packed, nonce, rest=rest, errors=errors)
    if _ECHOED in noise:
        raise _terminal_error(machine)
    waited = TIMEOUT_S + link.login_timeout
    if not noise and not errors.data:
        raise LinkLost(
            machine,
            f"no data from {machine} within {waited:.0f} s: the network or the machine is silent",
            is_silent=True,
        )
    raise ProbeBroken(
        machine,
        f"Python did not start on {machine} within {waited:.0f} s",
        "check its login shell's rc files (.bashrc, .profile) for a command that reads input",
    )


async def _send_source(
    machine: MachineName,
    program: Program,
    packed: bytes,
    nonce: str,
    *,
    rest: bytearray,
    errors: ErrorTail,
) -> bytes:
    """Send the program while marks come back; return the output after the last mark."""
    mark = f"got {nonce}\n".encode()
    missing = -(-len(packed) // CHUNK_BYTES)
    writing = asyncio.create_task(program.write(f"{nonce} {len(packed)}\n".encode() + packed))
    try:
        while missing:
            async with asyncio.timeout(CHUNK_TIMEOUT_S):
                while (at := rest.find(mark)) < 0:
                    if len(rest) > MAX_NOISE_BYTES:
                        why = f"{machine} printed over 1 MiB while the program arrived"
                        raise ProbeBroken(machine, why)
                    rest += await _read_more(machine, program, errors)
            del rest[: at + len(mark)]
            missing -= 1
        await writing
        return bytes(rest)
    except TimeoutError as error:
        why = f"{machine} took no data for {CHUNK_TIMEOUT_S:.0f} s"
        raise LinkLost(machine, why, is_silent=True) from error
    finally:
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError, LinkLost):
            await writing


async def _read_more(machine: MachineName, program: Program, errors: ErrorTail) -> bytes:
    """Return the program's next output.

    Raises:
        LinkRefused: It has ended, for lack of a module.
        LinkLost: It has ended.
    """
    if data := await program.read():
        return data
    await errors.wait_whole()
    incomplete = incomplete_python(machine, errors.text())
    if incomplete is not None:
        raise incomplete
    why = shown(errors.text(), 300) or "no error output"
    raise LinkLost(machine, f"{machine} ended the connection while sending: {why}")


def incomplete_python(machine: MachineName, errors: str) -> LinkRefused | None:
    """Return the error of a program whose Python lacks modules of its own; None: another one.

    Args:
        machine: For messages.
        errors: What the program wrote on its standard error, untrusted.
    """
    module = _MISSING_MODULE.search(errors)
    if module is None:
        return None
    return LinkRefused(
        machine,
        f"the Python on {machine} lacks a part of its standard library: {module.group(1)}",
        "install all of it, such as the package `python3` where only `python3-minimal` is"
        f" installed; or set `python` of {machine} in the config to another interpreter",
    )


@cache
def compressed(source: bytes, *, has_bz2: bool) -> bytes:
    """Return a program as it travels to a Python with or without bz2.

    bz2 saves a fifth. Its level is the size of a block: 200 kB hold a program, and take little
    memory on the machine.
    """
    if has_bz2:
        with contextlib.suppress(ImportError):  # evalroom's Python may have been built without it
            return cast("bytes", import_module("bz2").compress(source, 2))
    return zlib.compress(source, 9)


_ECHOED = b" -u -I -c '"
"""A part of the start line; only a terminal sends it back."""


def _terminal_error(machine: MachineName) -> LinkRefused:
    return LinkRefused(
        machine,
        f"there is a terminal between evalroom and {machine}, which changes the bytes of the link",
        f"remove -t or -tt (ssh, docker, kubectl) or `script` from `command` of {machine} "
        "in the config, and RequestTTY from ssh_config",
    )


_NOT_RUN = frozenset({126, 127})
"""Exit statuses of a shell that can't run a program, or finds none."""


async def _start_error(
    machine: MachineName,
    link: Link,
    program: Program,
    *,
    python: str,
    noise: bytearray,
    errors: ErrorTail,
    old: bytes,
) -> MachineError:
    status = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(3.0):
            status = await program.wait()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LATE_OUTPUT_TIMEOUT_S):
            while len(noise) <= MAX_NOISE_BYTES and (data := await program.read()):
                noise += data
    await errors.wait_whole()
    output = shown(errors.text() or bytes(noise).decode(errors="replace").strip()[-300:], 300)
    if old in noise:
        version = (
            bytes(noise[noise.index(old) + len(old) :]).split(b"\n")[0].decode(errors="replace")
        )
        return LinkRefused(
            machine,
            f"{python} on {machine} is Python {shown(version, 20)}; evalroom needs 3.8 or newer",
            f"set `python` of {machine} in the config to a newer interpreter",
        )
    says_python = PurePath(python).name in output
    if (status in _NOT_RUN and says_python) or "nknown option: -I" in output:
        return LinkRefused(
            machine,
            f"can't run {python} on {machine}: {output or f'exit {status}'}",
            f"set `python` of {machine} in the config to an interpreter that is installed there",
        )
    incomplete = incomplete_python(machine, output)
    if incomplete is not None:
        return incomplete
    known = link.explain(status, errors.text())
    if known is not None:
        return known
    if status is None:
        return ProbeBroken(machine, f"the connection to {machine} ended before Python started")
    return LinkRefused(
        machine,
        f"the account on {machine} can't run programs (exit {status}): {output or 'no output'}",
        "give it a login shell that can run /bin/sh",
    )
