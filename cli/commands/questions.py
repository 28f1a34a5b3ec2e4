"""A question at the terminal, while the desk goes on behind it."""

import asyncio
import contextlib
import sys
import termios


async def answered(prompt: str) -> str | None:
    """Ask for a line, and return it; None: the input ended instead.

    What was typed before the question stood there is no answer to it: it is dropped. Links stay
    up however long the operator thinks.
    """
    with contextlib.suppress(termios.error, OSError, ValueError):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    sys.stdout.write(prompt)
    sys.stdout.flush()
    loop = asyncio.get_running_loop()
    is_there = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), is_there.set)
    try:
        await is_there.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline() or None
