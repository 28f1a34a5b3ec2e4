"""Many signs of one kind at one subject become few findings: the oldest, and one for the rest."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from core.errors import sentences
from core.format import plural
from core.judge.sign import Sign
from core.model.finding import SEVERITIES

MAX_ALONE = 5
"""Signs that have a finding each; the others share one."""
REST = "rest"
"""The key of the sign for the others."""


def told_together(signs: Sequence[Sign], what: str, is_open: Collection[str]) -> list[Sign]:
    """Return the signs, those beyond the oldest `MAX_ALONE` bad ones as one.

    Signs that are not bad yet stay as they are: they open nothing. The one for the rest is noted
    with them, so that it opens as soon as it is bad.

    Args:
        signs: The signs of one task.
        what: What their samples have in common, in words: `do one thing for too long`.
        is_open: The keys of the signs whose findings are open.
    """
    if len(signs) <= MAX_ALONE + 1:
        return list(signs)
    bad = sorted(
        (sign for sign in signs if sign.severity is not None),
        key=lambda sign: (sign.since or 0.0, sign.key),
    )
    calm = [sign for sign in signs if sign.severity is None]
    rest = bad[MAX_ALONE:]
    if len(rest) < 2:  # noqa: PLR2004 - one more has a finding of its own, as the others
        noted_rest = replace(signs[0], key=REST, severity=None, text="", sample=None, start=None)
        return list(signs) if REST in is_open else [*signs, noted_rest]
    noted = [replace(sign, severity=None) for sign in rest]  # the next one needs no new readings
    return [*calm, *bad[:MAX_ALONE], *noted, _rest(rest, what)]


def _rest(rest: Sequence[Sign], what: str) -> Sign:
    first = rest[0]
    counts = Counter(sign.severity for sign in rest)
    worst = max((sign.severity for sign in rest if sign.severity), key=SEVERITIES.index)
    words = (f"{counts[each]} {each}" for each in reversed(SEVERITIES) if counts[each])
    more = plural(len(rest), "more sample")
    covered = [each for each in first.covered_by if all(each in sign.covered_by for sign in rest)]
    return replace(
        first,
        key=REST,
        severity=worst,
        text=sentences(f"{more} of this task {what} ({', '.join(words)})", "See what they share"),
        cause="",
        proposals=(),
        closes_when="fewer of these samples do",
        start=None,
        sample=None,
        count=len(rest),
        covered_by=tuple(covered),
    )
