"""Where guides are kept, as the core needs it."""

from collections.abc import Sequence
from typing import Protocol

from core.errors import UsageWrong
from core.guide.guide import Guide
from core.model.order import Instance
from core.text import shown


class GuideStore(Protocol):
    """The durable side of guides."""

    async def save(self, guide: Guide) -> None:
        """Write a guide as it stands; returns when it is on disk.

        Raises:
            StorageError: It is not, or another evalroom has taken it up.
        """
        ...

    async def recent(self, limit: int) -> Sequence[Guide]:
        """Return all open guides and the newest that ended, newest first.

        Raises:
            StorageError: They can't be read.
        """
        ...

    async def claim(self, guide: str, instance: Instance) -> Guide:
        """Take a guide of a dead evalroom over, in one transaction, and return it.

        Raises:
            UsageWrong: There is none such, it ended, or its evalroom may still run.
            StorageError: It can't be read or written.
        """
        ...


class ReadOnlyGuideStore:
    """A `GuideStore` that writes nothing: for dry runs.

    Args:
        book: Where guides can be read; None: nowhere.
    """

    def __init__(self, book: GuideStore | None) -> None:
        self._book = book

    async def save(self, guide: Guide) -> None:
        """Do nothing."""

    async def recent(self, limit: int) -> Sequence[Guide]:
        """Return what the real book has."""
        return () if self._book is None else await self._book.recent(limit)

    async def claim(self, guide: str, instance: Instance) -> Guide:
        """Take nothing over."""
        del instance
        raise UsageWrong(f"guide {shown(guide, 40)} is not taken up in a dry run")
