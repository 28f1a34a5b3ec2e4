"""Many signs of one kind at one subject become few findings: the oldest, and one for the rest."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from core.errors import sentences
from core.format import plural
from core.judge.sign import Sign
from core.model.finding import SEVERITIES

MAX_ALONE = 5
"""Signs that have a finding each; the others share one."""
REST = "rest"
"""The key of the sign for the others."""


def told_together(signs: Sequence[Sign], what: str) -> list[Sign]:
    """Return the signs, those beyond the oldest `MAX_ALONE` bad ones as one.

    Signs that are not bad yet stay as they are: they open nothing.

    Args:
        signs: The signs of one task.
        what: What their samples have in common, in words: `do one thing for too long`.
    """
    bad = [sign for sign in signs if sign.severity is not None]
    if len(bad) <= MAX_ALONE + 1:
        return list(signs)
    bad.sort(key=lambda sign: (sign.since or 0.0, sign.key))
    rest = bad[MAX_ALONE:]
    calm = [sign for sign in signs if sign.severity is None]
    noted = [replace(sign, severity=None) for sign in rest]  # the next one needs no new readings
    return [*calm, *bad[:MAX_ALONE], *noted, _rest(rest, what)]


def _rest(rest: Sequence[Sign], what: str) -> Sign:
    first = rest[0]
    counts = Counter(sign.severity for sign in rest)
    worst = max((sign.severity for sign in rest if sign.severity), key=SEVERITIES.index)
    words = (f"{counts[each]} {each}" for each in reversed(SEVERITIES) if counts[each])
    more = plural(len(rest), "more sample")
    covered = set.intersection(*(set(sign.covered_by) for sign in rest))
    return replace(
        first,
        key=REST,
        severity=worst,
        text=sentences(f"{more} of this task {what} ({', '.join(words)})", "See what they share"),
        cause="",
        proposals=(),
        closes_when="fewer of them do",
        sample=None,
        count=len(rest),
        covered_by=tuple(sorted(covered)),
    )
