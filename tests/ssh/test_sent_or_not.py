"""A request whose bytes never left differs from one that may have arrived."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import RequestFailed
from core.frames import Frame
from core.ids import MachineName
from ssh.send_queue import SendQueue
from tests.support.reached import PYTHON, connection_of
from tests.support.receiving import Receiver, receiving
from tests.support.waiting import WAIT_S

HERE = MachineConfig(name=MachineName("here"), link="command", python=PYTHON)
LARGE = Frame("unwatch", {"pid": 1, "start": "1", "name": "n" * 50_000})
ORDER = Frame("send", {"pid": 1, "start": "1", "method": "POST", "path": "/pause"})


async def stopped_probe(received: Receiver) -> int:
    """Stop the probe's process; return its pid."""
    pid: int = (await received.hello()).head["pid"]
    os.kill(pid, signal.SIGSTOP)
    return pid


async def turns() -> None:
    """Let the loop run often enough for the link to take what it can."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_a_request_behind_a_full_pipe_was_not_sent_when_the_link_is_lost(
    tmp_path: Path,
) -> None:
    connection = connection_of(HERE, tmp_path / "unused")
    async with receiving(connection) as received:
        pid = await stopped_probe(received)
        for _ in range(20):  # more than the pipe and the buffers hold
            assert connection.send(LARGE)
        await turns()
        order = asyncio.create_task(connection.request(ORDER, deadline=WAIT_S))
        await turns()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(RequestFailed, match=r"^not sent: the link to here was lost"):
            await order


async def test_a_request_that_the_link_took_is_lost_with_it(tmp_path: Path) -> None:
    connection = connection_of(HERE, tmp_path / "unused")
    async with receiving(connection) as received:
        pid = await stopped_probe(received)
        order = asyncio.create_task(connection.request(ORDER, deadline=WAIT_S))
        await turns()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(RequestFailed, match=r"^the link to here was lost before the answer"):
            await order


async def test_a_request_whose_time_is_over_never_leaves_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssh.probe_session.REPLY_GRACE_S", 0.2)
    connection = connection_of(HERE, tmp_path / "unused")
    async with receiving(connection) as received:
        pid = await stopped_probe(received)
        try:
            for _ in range(20):
                assert connection.send(LARGE)
            await turns()
            with pytest.raises(RequestFailed, match=r"^not sent: here accepted no data for"):
                await connection.request(ORDER, deadline=0.3)
        finally:
            os.kill(pid, signal.SIGCONT)
        assert (await connection.request(Frame("facts"), deadline=WAIT_S)).body
        assert not [
            each for each in received.frames("reply") + received.frames("refused")
            if each.head.get("about") == "send"
        ]  # fmt: skip


async def test_only_a_frame_that_waits_can_be_withdrawn() -> None:
    queue = SendQueue()
    first, second, third = (queue.put(data) for data in (b"1", b"2", b"3"))
    assert first is not None
    assert second is not None
    assert third is not None
    assert queue.withdraw(second)
    assert await queue.next_write() == b"13"
    assert not queue.withdraw(first)
    assert not queue.withdraw(third)


async def test_a_request_that_is_too_long_for_a_frame_fails_alone(tmp_path: Path) -> None:
    connection = connection_of(HERE, tmp_path / "unused")
    async with receiving(connection) as received:
        await received.hello()
        long = Frame("logs", {"asked": {"what": "summaries", "logs": ["x" * 70_000]}})
        with pytest.raises(RequestFailed, match=r"^not sent: a head of \d+ bytes"):
            await connection.request(long, deadline=WAIT_S)
        assert (await connection.request(Frame("facts"), deadline=WAIT_S)).body
