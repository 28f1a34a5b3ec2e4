"""The checks of a preflight as lines and as JSON."""

from collections.abc import Sequence

from core.launch.preflight.checks import Check, CheckLevel
from core.text import shown

_MARKS = {CheckLevel.OK: "ok  ", CheckLevel.WARNING: "mind", CheckLevel.STOP: "STOP"}


def check_rows(checks: Sequence[Check]) -> list[str]:
    """Return a line for each check: its level, what was found, what to do."""
    return [
        f"{_MARKS[each.level]}  {each.name}: "
        + shown(f"{each.said}; {each.advice}" if each.advice else each.said, 1_200)
        for each in checks
    ]


def checks_json(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Return checks in JSON's types."""
    return [
        {"name": each.name, "level": str(each.level), "said": each.said, "advice": each.advice}
        for each in checks
    ]
