"""The port of the database for runs."""

from collections.abc import Sequence
from typing import Protocol

from core.model.order import Instance
from core.model.run import Run


class RunStore(Protocol):
    """The runs of this operator, in the database before anything is sent to a machine."""

    async def add(self, runs: Sequence[Run], instance: Instance) -> None:
        """Add new runs, all or none; return once they are on disk.

        Args:
            runs: The new runs.
            instance: The instance of evalroom that starts them.

        Raises:
            StorageError: No run was added.
        """
        ...

    async def save(self, run: Run) -> None:
        """Save a run's present state.

        Raises:
            StorageError: The run was not saved.
        """
        ...

    async def recent(self, limit: int) -> Sequence[Run]:
        """Return up to `limit` runs: those that are not over, then the newest of the others.

        Raises:
            StorageError: The database can't be read.
        """
        ...

    async def abandoned(self, instance: Instance) -> frozenset[str]:
        """Return the ids of open runs that no other living instance of evalroom is starting.

        Args:
            instance: This instance of evalroom.

        Raises:
            StorageError: The database can't be read.
        """
        ...
