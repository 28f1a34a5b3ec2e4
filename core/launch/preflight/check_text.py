"""Texts for checks: sizes, lists, errors of hosts, and lines for a spec."""

import json
from collections.abc import Sequence

_GIB = 1024**3
_MIB = 1024**2
_FEW = 9.95
_EXACT = 0.001
_MAX_NAMES = 6


def size(count: float) -> str:
    """Return a number of bytes as text: `0.4 GiB`, `12 GiB`, `30 MiB`."""
    if count != count or abs(count) > 2.0**63:  # noqa: PLR0124 - only not-a-number differs
        return "an unknown size"
    if count < _GIB / 10:
        return f"{count / _MIB:.0f} MiB"
    in_gib = count / _GIB
    return f"{in_gib:.1f} GiB" if in_gib < _FEW else f"{in_gib:.0f} GiB"


def same_unit(first: int, *others: int) -> tuple[str, ...]:
    """Return numbers of bytes as texts that can be multiplied as they are read.

    MiB, unless the first is a number of tenths of GiB.
    """
    if first >= _GIB and abs(first * 10 / _GIB - round(first * 10 / _GIB)) < _EXACT:
        return tuple(size(each) for each in (first, *others))
    return tuple(f"{each / _MIB:.0f} MiB" for each in (first, *others))


def listed(names: Sequence[str]) -> str:
    """Return names separated by commas; after six names, how many more there are."""
    more = len(names) - _MAX_NAMES
    shown_names = ", ".join(names[:_MAX_NAMES])
    return f"{shown_names} and {more} more" if more > 0 else shown_names


def packages_line(packages: Sequence[str]) -> str:
    """Return the line `packages = [...]` for a spec, each package once."""
    return f"packages = {json.dumps(list(dict.fromkeys(packages)), ensure_ascii=False)}"


def error_of(error: str) -> str:
    """Return the error text of a host for the end of a sentence."""
    return error.strip().rstrip(".") or "no reason given"
