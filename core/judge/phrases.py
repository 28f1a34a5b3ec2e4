"""Numbers in the sentences of findings."""

_MINUTE = 60
_HOUR = 3_600
_DAY = 86_400


def lasting(seconds: float) -> str:
    """Return how long, in words that read in a sentence: `45s`, `4m 12s`, `3h 04m`, `2d 3h`."""
    whole = int(max(0.0, min(1e9, seconds)))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE:02}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h {whole % _HOUR // _MINUTE:02}m"
    return f"{whole // _DAY}d {whole % _DAY // _HOUR}h"


def times(count: int) -> str:
    """Return how often: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def things(count: int, one: str) -> str:
    """Return a count with its noun: `1 task`, `3 tasks`."""
    return f"{count} {one}" if count == 1 else f"{count} {one}s"
