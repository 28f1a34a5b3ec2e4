"""The consent of an operator: given in advance on the command line, or asked for at the terminal.

Every command that changes something uses this module.
"""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Sequence

from cli.parser.command import Consent
from cli.wiring.terminal import has_terminal
from core.errors import NotConfirmed
from core.text import shown

_LONGEST = 120
_MOST_BYTES = 4_096
"""Bytes of an answer that one read takes."""


async def confirm(
    consent: Consent, *, question: str, words: str = "", otherwise: str, may_ask: bool = True
) -> None:
    """Return once the operator has agreed.

    `--yes` is enough if `words` is empty; otherwise `--confirm` must give exactly these words.
    Without either, this asks at the terminal. The end of the input counts as a no, and Ctrl+C
    cancels the command.

    Args:
        consent: What the command line gave.
        question: The action to confirm, such as `launch 3 runs`.
        words: The text to type; empty: a yes is enough.
        otherwise: The result without consent, such as `nothing was launched`.
        may_ask: Whether the command may ask: not while it prints JSON.

    Raises:
        NotConfirmed: The operator did not agree; the advice names the option that agrees.
    """
    if words in map(str.strip, consent.confirm) if words else consent.yes:
        return
    advice = f"add --confirm {shown(repr(words), _LONGEST)}" if words else "add --yes"
    if not (may_ask and has_terminal()):
        raise NotConfirmed(_why(consent.confirm, words, otherwise), advice)
    asked = f"type {shown(words, _LONGEST)} to confirm: " if words else "[y/N] "
    answer = (await _answer(f"{shown(question, _LONGEST)}? {asked}") or "").strip()
    if answer != words if words else answer.lower() not in {"y", "yes"}:
        raise NotConfirmed(f"not confirmed: {otherwise}")


def _why(given: Sequence[str], words: str, otherwise: str) -> str:
    if words and given:
        listed = ", ".join(repr(each) for each in given)
        return (
            f"--confirm {shown(listed, _LONGEST)} does not match the text to confirm: {otherwise}"
        )
    return f"not confirmed: {otherwise}"


async def _answer(prompt: str) -> str | None:
    """Ask for a line and return it; None: the input ended.

    Drops input that was typed before the prompt, because it can't be an answer. Does not block the
    event loop, even while half a line is typed, so that links stay up.
    """
    descriptor = sys.stdin.fileno()
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(descriptor, termios.TCIFLUSH)
    sys.stdout.write(prompt)
    sys.stdout.flush()
    typed = b""
    try:
        while not typed.endswith((b"\n", b"\r")):
            await _readable(descriptor)
            more = os.read(descriptor, _MOST_BYTES)
            if not more:
                return None
            typed += more
    except asyncio.CancelledError:
        sys.stdout.write("\n")
        sys.stdout.flush()
        raise
    return typed.decode(errors="replace")


async def _readable(descriptor: int) -> None:
    """Wait until this descriptor can be read without blocking."""
    loop = asyncio.get_running_loop()
    is_there = asyncio.Event()
    loop.add_reader(descriptor, is_there.set)
    try:
        await is_there.wait()
    finally:
        loop.remove_reader(descriptor)
