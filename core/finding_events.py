"""Events of the operator about findings, as those of `core.events`."""

from dataclasses import dataclass

from core.model.mute import Mute


@dataclass(frozen=True, slots=True, kw_only=True)
class SameFinding:
    """A finding of this room that the history had already, as another room found it too.

    Attributes:
        own: The id that this room gave it.
        id: Its id in the history.
        opened_at: When the other room opened it, Unix seconds at the desk.
    """

    own: str
    id: str
    opened_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsMerged:
    """Findings got the ids of the history, which other rooms of the operator know them by."""

    at: float
    same: tuple[SameFinding, ...]


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
