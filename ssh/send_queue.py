"""The frames that wait to be written to a probe, and whether each was handed to the link."""

import asyncio
from collections import deque
from dataclasses import dataclass

MAX_QUEUED_FRAMES = 4_000
"""Most frames in the queue."""
MAX_WRITE_BYTES = 256 * 1024
"""Queued frames are joined into writes of about this size."""


@dataclass(slots=True, eq=False)
class QueuedFrame:
    """One encoded frame.

    Attributes:
        data: Its bytes.
        is_handed: Whether the link got its bytes: from then on it may arrive.
    """

    data: bytes
    is_handed: bool = False


class SendQueue:
    """Frames in the order in which they are written."""

    def __init__(self) -> None:
        self._frames: deque[QueuedFrame] = deque()
        self._has_frames = asyncio.Event()

    def put(self, data: bytes, *, is_bounded: bool = True) -> QueuedFrame | None:
        """Queue an encoded frame; None: the queue is full, which only bounded frames mind."""
        if is_bounded and len(self._frames) >= MAX_QUEUED_FRAMES:
            return None
        queued = QueuedFrame(data)
        self._frames.append(queued)
        self._has_frames.set()
        return queued

    def withdraw(self, queued: QueuedFrame) -> bool:
        """Take a frame back; False: the link has its bytes already."""
        if not queued.is_handed:
            self._frames.remove(queued)
        return not queued.is_handed

    async def next_write(self) -> bytes:
        """Wait for frames and return the bytes to write next; their frames count as handed."""
        while not self._frames:
            self._has_frames.clear()
            await self._has_frames.wait()
        size, batch = 0, list[bytes]()
        while self._frames and size < MAX_WRITE_BYTES:
            queued = self._frames.popleft()
            queued.is_handed = True
            batch.append(queued.data)
            size += len(queued.data)
        return b"".join(batch)
