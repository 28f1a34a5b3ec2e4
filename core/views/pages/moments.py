"""Moments and ends as words."""

import time

from core import format as fmt
from core.text import Shown


def moment(at: float) -> Shown:
    """Return Unix seconds as the operator's local date and time."""
    number = fmt.sane(at)
    if number is None:
        return Shown("·")
    local = time.localtime(max(0.0, min(number, 4e9)))
    return Shown(time.strftime("%Y-%m-%d %H:%M:%S", local))


def end_words(after: float | None, at: float) -> str:
    """Return when something ended.

    Args:
        after: When it still ran for certain, if nobody saw its end; Unix seconds. None: it ended
            at `at`.
        at: When it had ended, Unix seconds.
    """
    if after is None:
        return moment(at)
    return f"between {moment(after)} and {moment(at)}; evalroom did not see it"
