"""Two ways to read an eval: straight over its socket, and as the desk does, through a probe."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest

from tests.support.desk_on_evals import Read, Reader, watching_eval
from tests.support.evals import Eval


@pytest.fixture(params=["socket", "probe"])
async def reader(request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    """Make the function that reads a path of an eval."""
    async with AsyncExitStack() as stack:

        async def straight(one: Eval) -> Read:
            async def read(path: str) -> Any:
                return one.get(path)

            return read

        async def through_the_probe(one: Eval) -> Read:
            watched = await stack.enter_async_context(watching_eval(one))
            key = await watched.key(one)

            async def read(path: str) -> Any:
                reply = await watched.desk.read(key, path)
                assert (reply.status, reply.error) == (200, None), (path, reply)
                return msgspec.json.decode(reply.body)

            return read

        yield straight if request.param == "socket" else through_the_probe
