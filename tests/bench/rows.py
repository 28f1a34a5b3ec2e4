"""One measured number beside its goal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A measured number and its goal.

    Attributes:
        goal: None: the number is only printed.
        better: Whether it should stay below the goal, or above.
    """

    what: str
    value: float
    unit: str
    goal: float | None = None
    better: Literal["below", "above"] = "below"

    @property
    def held(self) -> bool | None:
        """Whether the goal is held; None without one."""
        if self.goal is None:
            return None
        return self.value <= self.goal if self.better == "below" else self.value >= self.goal

    def shown(self) -> str:
        """Return the number with its unit."""
        return f"{self.value:,.4g} {self.unit}".strip()

    def goal_shown(self) -> str:
        """Return the goal in words."""
        if self.goal is None:
            return "no goal"
        return f"{'<=' if self.better == 'below' else '>='} {self.goal:,.4g} {self.unit}".strip()

    def as_json(self) -> dict[str, Any]:
        """Return it for the JSON document."""
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "goal": self.goal,
            "better": self.better,
            "held": self.held,
        }


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0-1) of `values` lie.

    Raises:
        ValueError: There are none.
    """
    if not values:
        raise ValueError("nothing was measured")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
