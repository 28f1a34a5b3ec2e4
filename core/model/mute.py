"""A mute: the operator wants to hear nothing of some findings for a time."""

from dataclasses import dataclass, replace

from core.ids import TaskKey
from core.model.finding import Finding

MAX_MUTE_S = 30 * 86_400.0
"""The longest time of a mute, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """Which findings are muted, and for how long. All that is named must fit.

    Attributes:
        until: When it ends, Unix seconds at the desk.
        finding: The id of the one finding that it mutes; empty: any.
        kind: The kind of the findings that it mutes; empty: any.
        task: The task whose findings it mutes; None: any.
    """

    until: float
    finding: str = ""
    kind: str = ""
    task: TaskKey | None = None

    def covers(self, finding: Finding) -> bool:
        """Whether it is about this finding; a mute that names nothing covers none."""
        return (
            (bool(self.finding or self.kind) or self.task is not None)
            and self.finding in {"", finding.id}
            and self.kind in {"", finding.kind}
            and self.task in {None, finding.task}
        )

    def lasting(self, until: float) -> "Mute":
        """Return a mute of the same findings that ends at `until`, Unix seconds at the desk."""
        return replace(self, until=until)

    def is_like(self, other: "Mute") -> bool:
        """Whether both mute the same findings."""
        return (self.finding, self.kind, self.task) == (other.finding, other.kind, other.task)
