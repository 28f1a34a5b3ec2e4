"""What is remembered of the readings of a machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.model.model_server import ModelServer


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskPoint:
    """The free bytes of a disk at one time, Unix seconds on the host's own clock."""

    at: float
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineTrail:
    """What is remembered of a machine's readings, bounded.

    Attributes:
        disks: Recent points of each disk by its path, oldest first.
        idle_since: Since when each GPU that is idle now has been so, Unix seconds on the host's
            own clock, by its id or its number.
        servers: Model servers that were seen, with their last answers; those that are gone too,
            until another one takes their place.
    """

    disks: Mapping[str, tuple[DiskPoint, ...]] = field(default_factory=lambda: MappingProxyType({}))
    idle_since: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    servers: tuple[ModelServer, ...] = ()
