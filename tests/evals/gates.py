"""Gates: samples wait until a test makes a file, however slow the machine is."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio


def gate_at(path: str, free: int = 0) -> Callable[[], Awaitable[None]]:
    """Return a function for each sample to await: it returns once the file `path` is there.

    The first `free` calls return at once, and all do where `path` is empty.
    """
    calls = itertools.count()

    async def is_open() -> None:
        if next(calls) >= free:
            while path and not Path(path).exists():  # noqa: ASYNC110, ASYNC240 - a test makes it
                await anyio.sleep(0.05)

    return is_open
