"""Runs a coroutine from a test that is not async."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """Run `work` in a loop of its own, and close that.

    Inspect replaces `asyncio.run` by a function that leaves its loop open.
    """
    with asyncio.Runner() as runner:
        return runner.run(work)
