"""The durable side of runs, as the core needs it."""

from collections.abc import Sequence
from typing import Protocol

from core.model.order import Instance
from core.model.run import Run


class RunStore(Protocol):
    """Runs that this operator launched, on disk before the first byte of them is sent."""

    async def add(self, runs: Sequence[Run], instance: Instance) -> None:
        """Write new runs; returns when they are on disk.

        Raises:
            StorageError: None of them is.
        """
        ...

    async def save(self, run: Run) -> None:
        """Write how a run stands now.

        Raises:
            StorageError: It is not on disk.
        """
        ...

    async def recent(self, limit: int) -> Sequence[Run]:
        """Return all that are not over and the newest of the others, up to `limit`.

        Raises:
            StorageError: They can't be read.
        """
        ...

    async def abandoned(self, instance: Instance) -> frozenset[str]:
        """Return the runs that are not over and that no other living evalroom starts.

        Raises:
            StorageError: They can't be read.
        """
        ...
