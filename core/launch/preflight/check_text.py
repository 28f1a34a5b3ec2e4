"""How checks are made: their levels, numbers in words, and lines to write into a spec."""

import json
from collections.abc import Sequence

_GIB = 1024**3
_MIB = 1024**2
_FEW = 9.95
_MOST_NAMES = 6


def size(count: float) -> str:
    """Return bytes in words: `0.4 GiB`, `12 GiB`, `30 MiB`."""
    if count != count or abs(count) > 2.0**63:  # noqa: PLR0124 - only not-a-number differs
        return "an unknown size"
    if count < _GIB / 10:
        return f"{count / _MIB:.0f} MiB"
    in_gib = count / _GIB
    return f"{in_gib:.1f} GiB" if in_gib < _FEW else f"{in_gib:.0f} GiB"


def listed(names: Sequence[str]) -> str:
    """Return names with commas between, the most of them counted."""
    more = len(names) - _MOST_NAMES
    told = ", ".join(names[:_MOST_NAMES])
    return f"{told} and {more} more" if more > 0 else told


def packages_line(packages: Sequence[str]) -> str:
    """Return the line of a spec that asks for these packages, each once."""
    return f"packages = {json.dumps(list(dict.fromkeys(packages)), ensure_ascii=False)}"


def error_of(error: str) -> str:
    """Return a host's error as the end of a sentence."""
    return error.strip().rstrip(".") or "it does not say why"
