"""What machines send, on its way into the fleet: bounded for each machine, and fair between them.

Each machine has a lane. Lanes take turns; a turn is a few milliseconds of work, then the screen
has its own. A machine that needs more than its share of the time rests, and while its lane is
full, its link is not read: a machine that sends too much slows only itself.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from core.events import Event
from core.frames import Frame
from core.ids import MachineName
from core.ports import MachineConnection, Received

TURN_S = 0.004
"""Seconds of work after which other asyncio tasks run. A key passes several of them until its
answer is drawn."""
SHARE = 0.3
"""The part of all time that the frames of one machine may take, in the long run."""
ALL_SHARE = 0.5
"""The part that those of all machines may take that had too much, together."""
BURST_S = 2.0
"""Seconds that they may take at once, after a time with few frames."""
MAX_WAITING_FRAMES = 2_000
"""Frames of a machine that wait; with more, its link is not read."""
MAX_WAITING_BYTES = 4 * 1024 * 1024
"""The memory of those frames, bytes; the last of them may be larger."""
MAX_ALL_WAITING_BYTES = 32 * 1024 * 1024
"""The memory of the waiting frames of all machines, bytes. With more, no large answer that has come
in part is read on."""
LARGE_FRAME_BYTES = 256 * 1024
"""A frame that is larger is decoded beside the loop, in a thread that all machines share."""
LARGE_FRAME_OBJECTS = 2_000
"""So is a frame with more objects."""
_COUNTED_FROM_BYTES = 32 * 1024
PAUSE_S = 0.06
"""Seconds for which nothing of a machine is taken after a key: the screen answers it."""
BETWEEN_PAUSES_S = 0.06
"""Seconds of work between two such pauses, so that a key that is held down stops nothing."""

Decode = Callable[[MachineName, Received, float], tuple[Event, ...]]
"""Makes events of what a machine sent: (machine, what, when it came) -> events."""
Apply = Callable[[MachineName | None, Event], None]
"""Takes an event of a machine, or one that was posted (None), into the fleet."""


@dataclass(slots=True)
class _Lane:
    """What one machine sent, and the time that it took."""

    machine: MachineName
    connection: MachineConnection
    frames: deque[tuple[Received, float]] = field(default_factory=deque[tuple[Received, float]])
    size: int = 0
    """The memory of `frames`, bytes."""
    events: deque[Event] = field(default_factory=deque[Event])
    decoding: asyncio.Task[None] | None = None
    is_held: bool = False
    credit: float = BURST_S
    """Seconds of work that it may do at once."""
    credit_at: float = 0.0
    rests_until: float = 0.0
    is_resting: bool = False
    """Whether it has work, and waits for its next turn until it has rested."""

    @property
    def has_work(self) -> bool:
        return bool(self.events) or (bool(self.frames) and self.decoding is None)

    def spend(self, seconds: float, now: float, share: float) -> None:
        """Count work that was done for it; it rests where that was more than its share."""
        earned = max(0.0, now - self.credit_at) * share
        self.credit = min(BURST_S, self.credit + earned) - seconds
        self.credit_at = now
        if self.credit < 0:
            self.rests_until = now - self.credit / share

    def hold(self) -> None:
        """Stop reading its link while it is full; read on once half is done."""
        is_full = len(self.frames) > MAX_WAITING_FRAMES or self.size > MAX_WAITING_BYTES
        is_low = len(self.frames) <= MAX_WAITING_FRAMES // 2 and self.size <= MAX_WAITING_BYTES // 2
        if is_full if not self.is_held else is_low:
            self.is_held = not self.is_held
            self.connection.hold(is_held=self.is_held)


class Intake:
    """Takes what machines send, and posted events, and has it decoded and applied.

    Args:
        connections: The machines' connections.
        decode: Makes events of a frame; it may run in a thread, once at a time for a machine.
        decoded: Called in the loop after each `decode`, before its events are applied.
        apply: Takes an event into the fleet; called in the loop.
    """

    def __init__(
        self,
        connections: Mapping[MachineName, MachineConnection],
        *,
        decode: Decode,
        decoded: Callable[[MachineName, Received], None],
        apply: Apply,
    ) -> None:
        self._lanes = {name: _Lane(name, each) for name, each in connections.items()}
        self._decode = decode
        self._decoded = decoded
        self._apply = apply
        self._posted: deque[Event] = deque()
        self._waiting: dict[MachineName, _Lane] = {}
        """Lanes with work, in the order of their turns."""
        self._size = 0
        """The memory of all frames that are not decoded, bytes."""
        self._is_crowded = False
        self._woken = asyncio.Event()
        self._paused_until = 0.0
        """Until when the screen has the loop for itself, seconds of the event loop."""
        self._worker: ThreadPoolExecutor | None = None
        self._failure: BaseException | None = None
        """Why decoding in the thread failed: a bug, which ends the loop as any other does."""

    def receive(self, machine: MachineName, received: Received, at: float) -> None:
        """Take what a machine sent at `at`; returns at once."""
        lane = self._lanes[machine]
        lane.frames.append((received, at))
        lane.size += _weight(received)
        lane.hold()
        self._count(_weight(received))
        self._queue(lane)

    def post(self, event: Event) -> None:
        """Take an event that no machine sent; returns at once."""
        self._posted.append(event)
        self._woken.set()

    def wake(self) -> None:
        """End the present wait of `turn`: someone else has work to do in the loop."""
        self._woken.set()

    def give_way(self) -> None:
        """Take nothing of a machine for a moment: the screen answers a key.

        Any thread may call it.
        """
        now = time.monotonic()  # the clock of the event loop
        if now >= self._paused_until + BETWEEN_PAUSES_S:
            self._paused_until = now + PAUSE_S

    def is_passed(self, machine: MachineName) -> bool:
        """Return whether a machine's observer has no turn now: it is in use, or it rests."""
        lane = self._lanes[machine]
        return lane.decoding is not None or lane.rests_until > asyncio.get_running_loop().time()

    def spent(self, machine: MachineName, seconds: float) -> None:
        """Count other work that was done for a machine."""
        self._spend(self._lanes[machine], seconds)

    def close(self) -> None:
        """End the thread."""
        for lane in self._lanes.values():
            if lane.decoding is not None:
                lane.decoding.cancel()
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)

    async def turn(self) -> None:
        """Wait for work, and do some of it: a few milliseconds, or one step that takes longer."""
        await self._woken.wait()
        self._woken.clear()
        if self._failure is not None:
            raise self._failure
        clock = asyncio.get_running_loop().time
        end = clock() + TURN_S
        while self._posted and clock() < end:
            self._apply(None, self._posted.popleft())
        is_paused = clock() < self._paused_until
        while self._waiting and not is_paused and clock() < end:
            lane = self._waiting.pop(next(iter(self._waiting)))
            began = clock()
            self._step(lane)
            self._spend(lane, clock() - began)
            self._queue(lane)
        if self._posted or (self._waiting and not is_paused):
            self._woken.set()
            await asyncio.sleep(0)
        elif self._waiting:
            asyncio.get_running_loop().call_at(self._paused_until, self._woken.set)

    def _spend(self, lane: _Lane, seconds: float) -> None:
        """Count work for a machine; the more of them have had too much, the less each may have."""
        overdrawn = sum(each.credit < 0 for each in self._lanes.values() if each is not lane) + 1
        share = min(SHARE, ALL_SHARE / overdrawn)
        lane.spend(seconds, asyncio.get_running_loop().time(), share)

    def _queue(self, lane: _Lane) -> None:
        """Give a lane with work its next turn, or let it rest before."""
        if not lane.has_work or lane.is_resting:
            return
        rest = lane.rests_until - asyncio.get_running_loop().time()
        if rest > 0:
            lane.is_resting = True
            asyncio.get_running_loop().call_later(rest, self._end_rest, lane)
        else:
            self._waiting.setdefault(lane.machine, lane)
            self._woken.set()

    def _end_rest(self, lane: _Lane) -> None:
        lane.is_resting = False
        self._queue(lane)

    def _step(self, lane: _Lane) -> None:
        """Apply one event of a lane, or decode its next frame."""
        if lane.events:
            self._apply(lane.machine, lane.events.popleft())
            return
        received, at = lane.frames.popleft()
        lane.size -= _weight(received)
        lane.hold()
        if _is_large(received):
            lane.decoding = asyncio.get_running_loop().create_task(
                self._decode_aside(lane, received, at), name=f"decode for {lane.machine}"
            )
            lane.decoding.add_done_callback(self._end_decoding)
            return
        events = self._decode(lane.machine, received, at)
        self._count(-_weight(received))
        self._decoded(lane.machine, received)
        lane.events.extend(events)

    def _count(self, size: int) -> None:
        """Count what waits now; large answers wait at their machines while that is too much."""
        self._size += size
        limit = MAX_ALL_WAITING_BYTES // 2 if self._is_crowded else MAX_ALL_WAITING_BYTES
        if (self._size > limit) is not self._is_crowded:
            self._is_crowded = not self._is_crowded
            for lane in self._lanes.values():
                lane.connection.hold_large(is_held=self._is_crowded)

    async def _decode_aside(self, lane: _Lane, received: Received, at: float) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="decoder")
        loop = asyncio.get_running_loop()
        took = 0.0

        def decode() -> tuple[Event, ...]:
            nonlocal took
            began = loop.time()
            events = self._decode(lane.machine, received, at)
            took = loop.time() - began
            return events

        try:
            events = await loop.run_in_executor(self._worker, decode)
        finally:
            lane.decoding = None
            self._count(-_weight(received))
        self._decoded(lane.machine, received)
        lane.events.extend(events)
        self._spend(lane, took)
        self._queue(lane)
        self._woken.set()

    def _end_decoding(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._failure = task.exception()
            self._woken.set()


def _weight(received: Received) -> int:
    return received.weight if isinstance(received, Frame) else 0


def _is_large(received: Received) -> bool:
    if not isinstance(received, Frame) or len(received.body) <= _COUNTED_FROM_BYTES:
        return False
    size = len(received.body)
    return size > LARGE_FRAME_BYTES or received.body.count(b"{") > LARGE_FRAME_OBJECTS
