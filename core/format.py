"""Numbers and times as short harmless text of nearly constant width.

Every function accepts any number that a host may send: NaN, infinite, negative, absurdly large.
"""

import math
import time

from core.strict_json import number_word
from core.text import Shown

_CAP = 1e15
_LONG = 1e6
"""From here on a score is written in scientific notation."""
_SMALL, _TINY = 0.005, 0.0005
"""Below these a score gets a third decimal, and is written in scientific notation."""
_IN_SYNC_S = 0.5
_LAST_CLOCK = 4_000_000_000.0
_MINUTE = 60
_HOUR = 3_600
_DAY = 86_400


def sane(value: float | None) -> float | None:
    """Return a number that is safe to compute with; None if it is unknown or NaN."""
    if value is None or value != value:  # noqa: PLR0124 - only not-a-number differs from itself
        return None
    return max(-_CAP, min(_CAP, value))


def count(value: float) -> Shown:
    """Return a count in at most five characters: `999`, `1.2k`, `48k`, `1.2M`."""
    number = sane(value)
    if number is None:
        return Shown("·")
    sign = "-" if number < 0 else ""
    number = abs(number)
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        # A number that rounds up to the next unit is written in it: 999,960 is 1.0M, not 1000k.
        if number >= size * 0.99995:
            scaled = number / size
            digits = 1 if scaled < 9.95 else 0  # noqa: PLR2004
            return Shown(f"{sign}{scaled:.{digits}f}{unit}")
    return Shown(f"{sign}{number:.0f}")


def size(value: float) -> Shown:
    """Return bytes in binary units: `512`, `1.5K`, `80G`."""
    number = sane(value)
    if number is None:
        return Shown("·")
    number = max(0.0, number)
    units = "BKMGTP"
    place = 0
    while number >= 1023.5 and place < len(units) - 1:  # noqa: PLR2004
        number /= 1024
        place += 1
    digits = 1 if number < 9.95 and place else 0  # noqa: PLR2004
    return Shown(f"{number:.{digits}f}{units[place]}")


def duration(seconds: float) -> Shown:
    """Return a duration: `0:42`, `4:12`, `1h04`, `2d03h`."""
    number = sane(seconds)
    if number is None:
        return Shown("·")
    whole = int(max(0.0, number))
    if whole < _HOUR:
        return Shown(f"{whole // _MINUTE}:{whole % _MINUTE:02}")
    if whole < _DAY:
        return Shown(f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02}")
    if whole < 1_000 * _DAY:
        return Shown(f"{whole // _DAY}d{whole % _DAY // _HOUR:02}h")
    return Shown(">999d")


def age(seconds: float) -> Shown:
    """Return an age in one unit: `1s`, `14s`, `2m`, `3h`, `5d`."""
    number = sane(seconds)
    if number is None:
        return Shown("·")
    whole = int(max(0.0, number))
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if whole >= unit:
            return Shown(f"{min(whole // unit, 9_999)}{name}")
    return Shown(f"{whole}s")


def clock_offset(seconds: float) -> Shown:
    """Return how far a clock is from this computer's: `2.5 s behind this computer`."""
    number = sane(seconds) or 0.0
    if abs(number) < _IN_SYNC_S:
        return Shown("in sync with this computer")
    amount = abs(number)
    if amount < _MINUTE - 0.05:
        text = f"{amount:.1f} s"
    else:
        text = duration(round(amount / _MINUTE) * _MINUTE if amount >= _HOUR else round(amount))
    return Shown(f"{text} {'ahead of' if number > 0 else 'behind'} this computer")


def span_of_time(low: float, high: float) -> Shown:
    """Return a range of seconds: `9-14m`, `50m-2h`; one value if both round to the same."""
    first, last = age(_rounded(low)), age(_rounded(max(low, high)))
    if first == last:
        return first
    if first[-1] == last[-1]:
        return Shown(f"{first[:-1]}-{last}")
    return Shown(f"{first}-{last}")


def _rounded(seconds: float) -> float:
    number = sane(seconds) or 0.0
    for unit in (_DAY, _HOUR, _MINUTE):
        if number >= unit:
            return round(number / unit) * unit
    return round(number)


def percent(fraction: float) -> Shown:
    """Return a fraction as a whole percentage; 100% only if the fraction is 1 or more."""
    number = sane(fraction)
    if number is None:
        return Shown("·")
    whole = int(max(-9.99, min(9.99, number)) * 100 + 0.5)
    if whole == 100 and number < 1:  # noqa: PLR2004
        whole = 99
    return Shown(f"{whole}%")


def score(value: float | None, stderr: float | None = None) -> Shown:
    """Return a score with its error bar: `.42 ±.05`, `12.3 ±.40`, `3.2e17`, `nan`."""
    if value is None:
        return Shown("·")
    text = _decimal(value)
    return Shown(text if stderr is None or stderr != stderr else f"{text} ±{_decimal(stderr)}")  # noqa: PLR0124


def _decimal(number: float) -> str:
    if isinstance(number, int) and abs(number) >= _LONG:
        exponent = math.log10(abs(number))  # of any integer, also where no float has its size
        digits = f"{10 ** (exponent % 1):.1f}".removesuffix(".0")
        return f"{'-' * (number < 0)}{digits}e{int(exponent)}"
    word = number_word(number)
    if word is not None:
        return word
    amount = abs(number)
    if amount >= _LONG or 0 < amount < _TINY:
        digits, _, power = f"{number:.1e}".partition("e")
        return f"{digits.removesuffix('.0')}e{int(power)}"
    if amount >= 999.95:  # noqa: PLR2004
        return f"{number:.0f}"
    if amount >= 9.995:  # noqa: PLR2004
        return f"{number:.1f}"
    text = f"{number:.2f}" if amount >= _SMALL or not amount else f"{number:.3f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def clock(at: float, *, seconds: bool = False) -> Shown:
    """Return Unix seconds as the operator's local time: `12:41`."""
    number = sane(at)
    if number is None:
        return Shown("·")
    moment = time.localtime(max(0.0, min(_LAST_CLOCK, number)))
    return Shown(time.strftime("%H:%M:%S" if seconds else "%H:%M", moment))


def plural(number: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: `1 sample`, `3 samples`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def duration_in_words(seconds: float) -> str:
    """Return a duration for use in a sentence: `45s`, `4m 12s`, `3h 04m`, `2d 3h`."""
    whole = int(max(0.0, min(1e9, seconds)))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m {whole % _MINUTE:02}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h {whole % _HOUR // _MINUTE:02}m"
    return f"{whole // _DAY}d {whole % _DAY // _HOUR}h"


def times_in_words(count: int) -> str:
    """Return a number of times: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
