"""The `[judge]` table: the numbers by which findings are judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRule:
    """One number of a kind of finding; the kind defines it, the config may change it.

    Attributes:
        kind: The kind of finding: its table is `[judge.KIND]`.
        name: Its key in that table; with a dot, the second part is a key of an inner table
            (`generate.suspect`).
        default: Its value, unless the config says otherwise.
        unit: What it counts: `seconds`, `percent`, `retries`.
        high, low: The largest and the smallest value that make sense.
        help: What it decides, one sentence.
    """

    kind: str
    name: str
    default: float
    unit: str
    help: str
    high: float = 1e9
    low: float = 0.0

    @property
    def path(self) -> str:
        """Its place below `[judge]`: `stall.generate.suspect`."""
        return f"{self.kind}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs: US dollars for a million tokens that it reads, and that it writes."""

    into: float
    out: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """The `[judge]`, `[budgets]` and `[prices]` tables.

    Attributes:
        values: The numbers that the config changes, by path (`JudgeRule.path`).
        budgets: How many connections all processes together may open to a model, by its name.
        prices: The prices of models, by their names.
    """

    values: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    budgets: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    prices: Mapping[str, Price] = field(default_factory=lambda: MappingProxyType({}))

    def number(self, rule: JudgeRule) -> float:
        """Return the number that holds for a rule."""
        return self.values.get(rule.path, rule.default) if self.values else rule.default
