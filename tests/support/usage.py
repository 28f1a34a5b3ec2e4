"""What a process costs, read from /proc."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of `pid` so far, its finished children not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def resident_mib(pid: int) -> float:
    """Memory that `pid` holds, MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def children(pid: int) -> list[int]:
    """Pids of the living children of `pid`, all generations."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found += [int(entry.name), *children(int(entry.name))]
    return found


@dataclass
class Meter:
    """CPU share of a process since the meter was made."""

    pid: int

    def __post_init__(self) -> None:
        self._cpu = cpu_seconds(self.pid)
        self._at = time.monotonic()

    def share(self) -> float:
        """Fraction of one core, 0-1 (or more)."""
        return (cpu_seconds(self.pid) - self._cpu) / (time.monotonic() - self._at)
