"""Events of the operator about findings, as those of `core.events`."""

from dataclasses import dataclass

from core.model.mute import Mute


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsAcknowledged:
    """The operator acknowledged findings.

    Attributes:
        findings: Their ids.
    """

    at: float
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsMuted:
    """The operator muted findings, or ended a mute.

    Attributes:
        id: Unique; the history keeps each of them once.
        mute: Which findings, and until when; a time that is over ends their mute.
    """

    at: float
    id: str
    mute: Mute
