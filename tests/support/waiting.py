"""The one way to wait for something that another process, thread or task does.

`wait_until` blocks its thread; `until` lets the event loop go on. Both ask once more after the
deadline, since a loaded machine may let the whole time pass between two asks, and both fail with
what they saw last. A blocking question in an async test is `asyncio.to_thread(wait_until, ...)`.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

Found = TypeVar("Found")
WAIT_S = 120.0
"""How long a test waits for one thing that takes seconds on an idle machine: a wait costs time
only in a test that fails, and a loaded machine is several times slower."""
EVAL_S = 300.0
"""How long a test waits for a whole eval: from its start, or to the reading of its log."""
EVERY_S = 0.05


def wait_until(
    ask: Callable[[], Found | None],
    what: str,
    seconds: float = WAIT_S,
    *,
    every: float = EVERY_S,
    seen: Callable[[], object] | None = None,
) -> Found:
    """Return the first true answer of `ask`.

    Args:
        ask: The question; what it raises is raised at once.
        what: What is waited for, for the message.
        seconds: How long to wait.
        every: Seconds between two asks.
        seen: Tells what there is instead, for the message; None: the last answer of `ask`.

    Raises:
        AssertionError: No true answer came in time.
    """
    end = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= end
        if found := ask():
            return found
        if is_last:
            raise AssertionError(_message(what, seconds, found, seen))
        time.sleep(every)


async def until(
    ask: Callable[[], Found | None],
    what: str,
    seconds: float = WAIT_S,
    *,
    every: float = EVERY_S,
    seen: Callable[[], object] | None = None,
    before: Callable[[], Awaitable[object]] | None = None,
) -> Found:
    """Return the first true answer of `ask`, while the event loop goes on; as `wait_until`.

    Args:
        ask: As there.
        what: As there.
        seconds: As there.
        every: As there.
        seen: As there.
        before: What is awaited before each question.
    """
    end = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= end
        if before is not None:
            await before()
        if found := ask():
            return found
        if is_last:
            raise AssertionError(_message(what, seconds, found, seen))
        await asyncio.sleep(every)


def turns_for(seconds: float) -> Iterator[int]:
    """Yield 0, 1, 2 ... until `seconds` are over; at least once."""
    end, count = time.monotonic() + seconds, 0
    while count == 0 or time.monotonic() < end:
        yield count
        count += 1


def _message(what: str, seconds: float, found: object, seen: Callable[[], object] | None) -> str:
    last = repr(found) if seen is None else str(seen())
    return f"not within {seconds:g} s: {what}; last seen: {last}"
