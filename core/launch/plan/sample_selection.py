"""How Inspect reads the sample ids of a spec: as patterns, in a normalised form."""

import re
from collections.abc import Sequence

_PATTERN = re.compile(r"[*?]|\[(?:!(?:\][^\]]*|[^\]]+)|\][^\]]*|[^\]!][^\]]*)\]")
"""`*`, `?`, `[...]` or `[!...]`; a `]` right after the beginning belongs to the set."""
_DIGITS = 20
"""Inspect pads ids that are numbers to this many digits before it compares them."""


def sample_patterns(ids: Sequence[str | int]) -> tuple[str, ...]:
    """Return the sample ids that Inspect takes for patterns, which may select many samples."""
    return tuple(each for each in ids if isinstance(each, str) and _PATTERN.search(each))


def selected_samples(ids: Sequence[str | int], has: int | None) -> int | None:
    """Return how many samples the ids select at most; None: unknown.

    Args:
        ids: The `sample_ids` of a spec, not empty.
        has: The samples of the task; None: unknown.
    """
    if sample_patterns(ids):
        return has
    different = len({_normalised(each) for each in ids})
    return different if has is None else min(different, has)


def _normalised(sample_id: str | int) -> str:
    if isinstance(sample_id, str) and not sample_id.isdigit():
        return sample_id
    return str(int(sample_id)).zfill(_DIGITS)
