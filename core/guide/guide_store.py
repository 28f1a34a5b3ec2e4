"""The port of the store of guides, and a store for dry runs that writes nothing."""

from collections.abc import Sequence
from typing import Protocol

from core.errors import UsageWrong
from core.guide.guide import Guide
from core.model.order import Instance
from core.text import shown


class GuideStore(Protocol):
    """Stores guides on disk, shared by all evalrooms of this user."""

    async def save(self, guide: Guide) -> None:
        """Write a guide; return when it is on disk.

        Raises:
            StorageError: It can't be written, or another evalroom took it over.
        """
        ...

    async def recent(self, limit: int) -> Sequence[Guide]:
        """Return all open guides and up to `limit` ended ones, newest first.

        Raises:
            StorageError: They can't be read.
        """
        ...

    async def claim(self, guide: str, instance: Instance) -> Guide:
        """Take over the guide of an evalroom that ended, in one transaction, and return it.

        Raises:
            UsageWrong: No such guide, it has ended, or its evalroom may still run.
            StorageError: It can't be read or written.
        """
        ...


class ReadOnlyGuideStore:
    """A `GuideStore` that writes nothing, for dry runs.

    Args:
        store: The store to read from; None: it has no guides.
    """

    def __init__(self, store: GuideStore | None) -> None:
        self._store = store

    async def save(self, guide: Guide) -> None:
        """Do nothing."""

    async def recent(self, limit: int) -> Sequence[Guide]:
        """Return the guides of the real store."""
        return () if self._store is None else await self._store.recent(limit)

    async def claim(self, guide: str, instance: Instance) -> Guide:
        """Refuse: a dry run takes no guide over."""
        del instance
        raise UsageWrong(f"a dry run does not take over guide {shown(guide, 40)}")
