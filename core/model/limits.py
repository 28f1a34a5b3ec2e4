"""Limits of what evalroom keeps of one machine. What exceeds them is counted and reported."""

from dataclasses import dataclass

MAX_PROCESSES = 2_000
"""Processes of a machine, those that are gone included; one of a long command counts as several."""
MAX_TASKS = 10_000
"""Tasks of a machine, those of gone processes included."""
MAX_PROCESS_TASKS = 2_000
"""Tasks of a process: one eval can't take the place of all others on its machine."""
MAX_SAMPLES = 50_000
"""Sample rows of a machine, and of one answer."""
MAX_PROCESS_OPERATIONS = 1_000
"""Operations of a process (what its trace says that it does)."""
MAX_OPERATIONS = 10_000
"""Operations of a machine; those that began first are kept."""
MAX_ALL_PROCESSES, MAX_ALL_TASKS, MAX_ALL_SAMPLES = 8_000, 20_000, 100_000
"""Of all machines together. Each may have its equal share in any case, so that no machine keeps
another one out; at the very most, there are twice as many."""
ROW_UNIT_BYTES = 1_024
"""A row that is larger than this counts as several."""
MAX_COUNTED = 100_000
"""What is left out is counted up to this number."""
MAX_ROW_BYTES = 32_768
"""The largest row of a task or sample; a larger one is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """How many things a machine sent beyond the limits; they are not in the fleet.

    Attributes:
        processes: Beyond `MAX_PROCESSES`.
        tasks: Beyond `MAX_TASKS` and `MAX_PROCESS_TASKS`.
        samples: Running samples beyond `MAX_SAMPLES`.
        operations: Operations beyond `MAX_OPERATIONS` and `MAX_PROCESS_OPERATIONS`.
        facts: GPUs, containers, disks, model servers and other facts of the host.
    """

    processes: int = 0
    tasks: int = 0
    samples: int = 0
    facts: int = 0
    operations: int = 0

    @property
    def is_any(self) -> bool:
        """Whether anything is left out."""
        return self.total > 0

    @property
    def total(self) -> int:
        """How many things are left out, of every kind."""
        return self.processes + self.tasks + self.samples + self.operations + self.facts

    @property
    def words(self) -> str:
        """What is left out, with the numbers: `100,000 or more processes, 3 samples`."""
        counts = (
            (self.processes, "process", "processes"),
            (self.tasks, "task", "tasks"),
            (self.samples, "sample", "samples"),
            (self.operations, "operation", "operations"),
            (self.facts, "fact of its host", "facts of its host"),
        )
        parts = [_counted(number, one, many) for number, one, many in counts if number]
        return ", ".join(parts)


def _counted(number: int, one: str, many: str) -> str:
    more = " or more" if number >= MAX_COUNTED else ""
    return f"{number:,}{more} {one if number == 1 else many}"


def units(raw: bytes) -> int:
    """Return as how many rows a row counts, by its size."""
    return 1 + len(raw) // ROW_UNIT_BYTES
