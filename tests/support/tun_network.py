"""Networks between this computer and machines in namespaces of their own, over TUN devices.

    python -m tests.support.tun_network 10.80 er1234 PID PID ...

Each PID gets a lane: a device here with the address 10.80.N.1, and one in the network namespace of
that process with 10.80.N.2. This program carries the packets of all lanes, with real losses, real
delays and real silence, so that the TCP of both ends meets what it meets in a bad network. It
prints `ready`, then takes one JSON object a line: `{"lane": 1, "delay_ms": 250, ...}`, see `Lane`.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.tree import ROOT

TUN = Path("/dev/net/tun")
MTU_BYTES = 1400
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 1, 0x1000
_MOST_PACKETS = 64
"""Packets taken from one device before the others have their turn."""


@dataclass(kw_only=True)
class Lane:
    """The weather of one lane.

    Attributes:
        delay_ms, jitter_ms: How long each packet takes each way; jitter comes on top.
        loss: The share of packets that are lost, 0-1.
        rate_kbit: kbit/s each way; 0: unlimited.
        queue_ms: How long a packet waits for a thin lane at most; then it is dropped.
        out_is_dark, back_is_dark: Whether nothing passes towards the machine, or from it.
    """

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    rate_kbit: float = 0.0
    queue_ms: float = 1000.0
    out_is_dark: bool = False
    back_is_dark: bool = False


@dataclass
class _Side:
    """One end of a lane: its device, and where its packets go."""

    device: int
    lane: Lane
    is_out: bool
    far: int = -1
    free_at: float = 0.0

    def due(self, packet: bytes, now: float) -> float | None:
        """When a packet that is sent now arrives; None: never."""
        lane = self.lane
        is_dark = lane.out_is_dark if self.is_out else lane.back_is_dark
        if is_dark or random.random() < lane.loss:
            return None
        at = now
        if lane.rate_kbit:
            at = max(now, self.free_at)
            if at - now > lane.queue_ms / 1000:
                return None
            at = self.free_at = at + len(packet) * 8 / (lane.rate_kbit * 1000)
        return at + (lane.delay_ms + random.uniform(0, lane.jitter_ms)) / 1000


class _Carrier:
    """Carries packets between the two devices of each lane."""

    def __init__(self, lanes: Sequence[Lane], sides: Sequence[_Side]) -> None:
        self._lanes = lanes
        self._sides = {side.device: side for side in sides}
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._turn = itertools.count()
        self._part = b""

    def run(self) -> None:
        """Carry until standard input ends."""
        poll = select.poll()
        for device in self._sides:
            poll.register(device, select.POLLIN)
        poll.register(0, select.POLLIN | select.POLLHUP)
        while True:
            left = self._waiting[0][0] - time.monotonic() if self._waiting else None
            for device, _ in poll.poll(None if left is None else max(0.0, left * 1000)):
                if device:
                    self._take(self._sides[device])
                elif not self._change():
                    return
            self._deliver()

    def _take(self, side: _Side) -> None:
        for _ in range(_MOST_PACKETS):
            try:
                packet = os.read(side.device, 65535)
            except BlockingIOError:
                return
            due = side.due(packet, time.monotonic())
            if due is not None:
                heapq.heappush(self._waiting, (due, next(self._turn), side.far, packet))

    def _deliver(self) -> None:
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            _, _, far, packet = heapq.heappop(self._waiting)
            try:
                os.write(far, packet)
            except OSError:  # the device is full or gone: the packet is lost
                continue

    def _change(self) -> bool:
        data = os.read(0, 65536)
        *lines, self._part = (self._part + data).split(b"\n")
        for line in lines:
            change: dict[str, Any] = json.loads(line)
            lane: Lane = self._lanes[int(change.pop("lane"))]
            for name, value in change.items():
                setattr(lane, name, value)
        return bool(data)


def _open(name: str) -> int:
    device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return device


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _join(net: str, name: str, number: int, pid: str) -> tuple[int, int]:
    """Make the two devices of a lane; return them."""
    here, there = _open(f"{name}h{number}"), _open(f"{name}f{number}")
    near, far = f"{net}.{number}.1", f"{net}.{number}.2"
    _ip("link", "set", f"{name}f{number}", "netns", pid)
    _ip("addr", "add", near, "peer", far, "dev", f"{name}h{number}")
    _ip("link", "set", f"{name}h{number}", "mtu", str(MTU_BYTES), "up")
    inside = ["nsenter", "-n", "-t", pid, "ip"]
    for words in (
        ["addr", "add", far, "peer", near, "dev", f"{name}f{number}"],
        ["link", "set", f"{name}f{number}", "mtu", str(MTU_BYTES), "up"],
        ["link", "set", "lo", "up"],
    ):
        subprocess.run([*inside, *words], check=True)
    return here, there


def main() -> None:
    """Carry packets until standard input ends."""
    net, name, *pids = sys.argv[1:]
    lanes = [Lane() for _ in pids]
    sides: list[_Side] = []
    for number, (lane, pid) in enumerate(zip(lanes, pids, strict=True), 1):
        here, there = _join(net, name, number, pid)
        sides += [
            _Side(here, lane, is_out=True, far=there),
            _Side(there, lane, is_out=False, far=here),
        ]
    print("ready", flush=True)
    _Carrier(lanes, sides).run()


@dataclass
class TunNetwork:
    """The lanes to the machines, in their order; a test may change each at any time.

    Attributes:
        addresses: Where each machine is reached.
    """

    addresses: tuple[str, ...]
    process: subprocess.Popen[bytes] = field(repr=False)

    def set(self, number: int, lane: Lane) -> None:
        """Bring a weather to the lane of the machine of that number, from 0."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"lane": number, **asdict(lane)}).encode() + b"\n")
        self.process.stdin.flush()


def require_tun() -> None:
    """Skip where no TUN device can be made."""
    if os.geteuid() != 0 or not TUN.exists():
        pytest.skip("no TUN devices here")


@contextmanager
def tun_network(pids: Sequence[int]) -> Generator[TunNetwork, None, None]:
    """Join the network namespaces of these processes to this one; the devices go afterwards."""
    require_tun()
    net, name = f"10.{100 + os.getpid() % 120}", f"er{os.getpid() % 100_000}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.tun_network", net, name, *map(str, pids)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield TunNetwork(tuple(f"{net}.{n}.2" for n in range(1, len(pids) + 1)), process)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
