"""Answers of an eval and of Inspect's own command line, made comparable."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

CLOCKS = frozenset({"as_of", "tokens_per_second", "total_time", "running_time"})
"""Fields that move while nothing happens."""
RATES = frozenset(
    {
        "window_seconds",
        "output_tokens_per_second",
        "output_tokens_per_minute",
        "input_tokens_per_minute",
        "cache_read_tokens_per_minute",
        "cache_write_tokens_per_minute",
        "requests_per_minute",
        "retries_per_minute",
        "backoff_ratio",
    }
)
"""Fields of the throughput that are taken over a window that moves."""


def still(value: Any, *more: str) -> Any:
    """Return `value` without the fields that are clocks, or named in `more`, at any depth."""
    gone = CLOCKS | set(more)
    if isinstance(value, dict):
        fields = cast("Mapping[str, Any]", value)
        return {name: still(each, *more) for name, each in fields.items() if name not in gone}
    if isinstance(value, list):
        items = cast("Sequence[Any]", value)
        return [still(each, *more) for each in items]
    return value


def plain(value: Any) -> Any:
    """Return a decoded value as JSON would have it: tuples as lists."""
    if isinstance(value, tuple):
        items = cast("Sequence[Any]", value)
        return [plain(each) for each in items]
    return value


def sample_ids(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str | int, int]]:
    """Return (sample id, epoch) of each row."""
    return {(row["sample_id"], row["epoch"]) for row in rows}
