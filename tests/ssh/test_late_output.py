"""A program that has ended: all that it printed is read, however late it comes."""

import asyncio
import re
from typing import cast

import pytest

from core.errors import LinkLost, LinkRefused, MachineError, RequestFailed
from core.ids import MachineName
from core.model.job import Job
from ssh.handshake import CHUNK_BYTES, ErrorTail, start_python
from ssh.jobs import do_job
from ssh.links.link import Link
from tests.support.waiting import WAIT_S, until

M = MachineName("m")
LATE_S = 0.3
WHY = b"This account is currently not available.\n"


class Late:
    """A link and its one program, which is gone at once; its output is still on the way."""

    def __init__(self, *, out: bytes = b"", error: bytes = b"", starts: bool = False) -> None:
        self._ready: list[bytes] = []
        self._out, self._error = [out, b""], [error, b""]
        self._starts = starts
        self._nonce = b""

    async def start(self) -> "Late":
        return self

    async def write(self, data: bytes) -> None:
        if not self._starts:
            raise LinkLost(M, "it closed its input")
        if found := re.search(rb'n="(\w+)"\+"(\w+)"', data):
            self._nonce = b"".join(found.groups())
            self._ready.append(b"ready " + self._nonce + b"\n")
        elif self._nonce and data.startswith(self._nonce):
            self._ready.append((b"got " + self._nonce + b"\n") * (len(data) // CHUNK_BYTES + 1))

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        return self._ready.pop() if self._ready else await _later(self._out)

    async def read_error(self) -> bytes:
        return await _later(self._error)

    async def wait(self) -> int | None:
        return 1

    async def close(self) -> None:
        pass

    @property
    def login_timeout(self) -> float:
        return 0.0

    async def came_up(self) -> None:
        pass

    async def went_silent(self) -> None:
        pass

    def explain(self, status: int | None, stderr: str) -> MachineError | None:
        del status, stderr
        return None


async def _later(rest: list[bytes]) -> bytes:
    if rest[0]:
        await asyncio.sleep(LATE_S)
    return rest.pop(0) if len(rest) > 1 else b""


@pytest.mark.parametrize("program", [Late(out=WHY), Late(error=WHY)], ids=["out", "error"])
async def test_a_shell_that_ends_at_once_is_quoted(program: Late) -> None:
    errors = ErrorTail(bytearray())
    reading = asyncio.create_task(errors.collect(program))
    with pytest.raises(LinkRefused, match="This account is currently not available"):
        await start_python(
            M, cast("Link", program), program, python="python3", source=b"", arguments=(),
            errors=errors,
        )  # fmt: skip
    await reading


async def test_a_job_without_an_answer_is_reported_with_its_last_words() -> None:
    link = cast("Link", Late(error=b"MemoryError\n", starts=True))
    job = Job(program="launcher", verb="list")
    with pytest.raises(RequestFailed, match="ended without an answer: MemoryError"):
        await do_job(M, link, job, python="python3", deadline=WAIT_S)


async def test_a_job_whose_request_never_left_was_not_sent() -> None:
    link = cast("Link", Late(error=b"System is down\n"))
    with pytest.raises(RequestFailed, match=r"^not sent: .*System is down"):
        await do_job(
            M, link, Job(program="launcher", verb="start"), python="python3", deadline=WAIT_S
        )


@pytest.mark.parametrize(("verb", "changes"), [("bar", True), ("list", False)])
async def test_only_a_job_that_changes_something_may_have_been_done(
    verb: str, changes: bool
) -> None:
    class Silent(Late):
        async def read(self) -> bytes:
            await until(lambda: self._ready, "something to read", every=0.01)
            return await super().read()

    job = Job(program="launcher", verb=verb)
    with pytest.raises(RequestFailed, match=f"no answer to {verb} from m within") as failed:
        await do_job(M, cast("Link", Silent(starts=True)), job, python="python3", deadline=1.0)
    assert ("done anyway" in failed.value.advice) is changes
