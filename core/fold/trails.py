"""What is remembered of a machine between two readings: free bytes of its disks, idle GPUs."""

from collections.abc import Mapping
from types import MappingProxyType

from core.model.machine import Gpu, MachineFacts
from core.model.machine_trail import DiskPoint, MachineTrail
from core.model.model_server import ModelServer

IDLE_BELOW = 5.0
"""A GPU with less utilisation is idle, percent."""
MAX_POINTS = 30
"""Newest points that are kept of each disk."""
POINT_EVERY_S = 60.0
"""Seconds between two points of a disk, on the host's clock."""
MAX_DISKS = 10
MAX_GPUS = 256
MAX_SERVERS = 32
MAX_GAP_S = 300.0
"""After a longer time without a reading, nobody knows whether a GPU was idle all the time."""


def with_reading(
    trail: MachineTrail, before: MachineFacts | None, facts: MachineFacts
) -> MachineTrail:
    """Return the trail with a new reading of the machine.

    Args:
        trail: What was remembered.
        before: The last reading; None: this is the first.
        facts: The new reading.
    """
    is_gap = before is None or not 0 <= facts.at - before.at <= MAX_GAP_S
    was_idle: Mapping[str, float] = {} if is_gap else trail.idle_since
    idle = {
        gpu_key(gpu): was_idle.get(gpu_key(gpu), facts.at)
        for gpu in facts.gpus[:MAX_GPUS]
        if gpu.utilisation is not None and gpu.utilisation < IDLE_BELOW and not gpu.lost
    }
    return MachineTrail(
        disks=_disks(trail, facts),
        idle_since=MappingProxyType(idle),
        servers=_servers(trail.servers, facts.model_servers),
    )


def _servers(
    before: tuple[ModelServer, ...], now: tuple[ModelServer, ...] | None
) -> tuple[ModelServer, ...]:
    if now is None:
        return before
    there = {each.key for each in now}
    ports = {each.port for each in now}
    served = {(each.kind, each.model) for each in now}
    gone = [
        each
        for each in before
        if each.key not in there
        and each.port not in ports
        and (each.kind, each.model) not in served
    ]
    return (*now, *gone)[:MAX_SERVERS]


def gpu_key(gpu: Gpu) -> str:
    """Return the key of a GPU in `MachineTrail.idle_since`."""
    return gpu.uuid or f"{gpu.index}"


def _disks(trail: MachineTrail, facts: MachineFacts) -> Mapping[str, tuple[DiskPoint, ...]]:
    found: dict[str, tuple[DiskPoint, ...]] = {}
    for disk in facts.disks[:MAX_DISKS]:
        points = trail.disks.get(disk.path, ())
        if points and facts.at < points[-1].at:
            points = ()  # the clock was set back
        if disk.free is not None and (not points or facts.at - points[-1].at >= POINT_EVERY_S):
            points = (*points, DiskPoint(at=facts.at, free=disk.free))[-MAX_POINTS:]
        found[disk.path] = points
    return MappingProxyType(found)
