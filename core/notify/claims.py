"""Claims: which of several evalrooms sends a notification, so that each address hears once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.model.finding import Finding

LEASE_S = 60.0
"""Seconds after which a message that was claimed and not sent may be sent by another instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one instance may send to an address.

    Attributes:
        mine: The ids of the findings that it may send now, and nobody else.
        told: The ids of those that the address has heard of, as bad as they are.
        silent_until: When the next message may be sent, Unix seconds; None: now. Another instance
            has just sent one.
    """

    mine: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()
    silent_until: float | None = None


class Claims(Protocol):
    """The record that all instances of an operator share."""

    async def note_known(self, account: str, findings: Sequence[Finding], now: float) -> None:
        """Count findings as told, if no instance ever notified this address.

        Raises:
            StorageError: The record can't be written.
        """
        ...

    async def claim(
        self, account: str, findings: Sequence[Finding], *, now: float, every: float
    ) -> Claim:
        """Claim what this address has not heard of yet.

        Args:
            account: The name of the secret that holds the address.
            findings: What is to be sent.
            now: Unix seconds at the desk.
            every: Seconds between two messages at least.

        Raises:
            StorageError: The record can't be read or written.
        """
        ...

    async def note_sent(self, account: str, findings: Collection[str], now: float) -> None:
        """Record that the claimed findings were sent, by their ids.

        Raises:
            StorageError: The record can't be written.
        """
        ...

    async def give_up(self, account: str, findings: Collection[str]) -> None:
        """Give claimed findings back, by their ids: they were not sent.

        Raises:
            StorageError: The record can't be written.
        """
        ...
