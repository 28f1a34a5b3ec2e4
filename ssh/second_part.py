"""Sends the second part of the probe's program, once its `hello` has come.

A piece waits until the one before has arrived, and is as long as about a second carries: so what
the room sends in between hardly waits, even on a thin link. A link that dies meanwhile is noticed
as at any other time.
"""

import time
from collections.abc import Awaitable, Callable

from core.errors import ProbeBroken, RequestFailed
from core.frames import Frame
from core.ids import MachineName
from core.ports import Reply
from ssh.handshake import compressed
from ssh.shipped_program import sent_parts

FIRST_PIECE_BYTES, MIN_PIECE_BYTES, MAX_PIECE_BYTES = 4096, 1024, 256 * 1024
PIECE_TIME_S = 1.0
"""How long a piece should take to arrive, seconds."""
PACKINGS = ("bz2", "zlib")
"""What a probe may ask for in its `hello`."""


async def send_second_part(
    machine: MachineName, hello: Frame, ask: Callable[[Frame], Awaitable[Reply]]
) -> None:
    """Send the second part in pieces; return when all of it has arrived.

    Args:
        machine: For messages.
        hello: Its `second_part` names the packing, untrusted; not one of `PACKINGS`: the probe
            needs no second part, so nothing is sent.
        ask: Sends a frame and returns the probe's answer to it.

    Raises:
        ProbeBroken: The probe refused it.
    """
    packing: object = hello.head.get("second_part")
    if packing not in PACKINGS:
        return
    packed = compressed(sent_parts("probe")[1], has_bz2=packing == "bz2")
    at, size = 0, FIRST_PIECE_BYTES
    while at < len(packed):
        piece, began_at = packed[at : at + size], time.monotonic()
        try:
            await ask(Frame("program", {"size": len(packed)}, piece))
        except RequestFailed as error:
            raise ProbeBroken(machine, error.message) from error
        at += len(piece)
        rate = len(piece) / max(time.monotonic() - began_at, 1e-3)
        size = min(max(int(rate * PIECE_TIME_S), MIN_PIECE_BYTES), MAX_PIECE_BYTES)
