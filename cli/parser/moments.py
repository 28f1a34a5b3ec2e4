"""Parses times as an operator writes them: `2h` for two hours ago, or a date."""

import re
import time
from datetime import datetime

_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_LONGEST = 9


def moment(text: str, now: float | None = None) -> float:
    """Return the time that `text` names, Unix seconds.

    Args:
        text: How long ago (`90s`, `5m`, `2h`, `3d`, `1w`), or a date or time in this
            computer's time zone (`2026-11-29`, `2026-11-29T08:30`).
        now: Unix seconds; None: this computer's clock.

    Raises:
        ValueError: The text is not a time.
    """
    ago = re.fullmatch(r"([0-9]+)([smhdw])", text.strip())
    if ago is not None and len(ago[1]) <= _LONGEST:
        return (time.time() if now is None else now) - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"{text!r} is not a time") from error
