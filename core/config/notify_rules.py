"""Rules for the values of a `[[notify]]` table."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from core.config import rules
from core.config.notify import QuietHours
from core.config.rules import InvalidValue, Rule

_SECRET = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HOURS = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])-([01]?[0-9]|2[0-3]):([0-5][0-9])")


def secret_name(value: object) -> str:
    """The name of a secret. An address in its place is refused, and not repeated."""
    if isinstance(value, str) and _SECRET.fullmatch(value):
        return value
    raise InvalidValue("the name of a secret that holds the address: evalroom secrets set NAME")


def quiet_hours(value: object) -> QuietHours:
    """Two times of the day, such as `22:00-07:00`."""
    found = _HOURS.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidValue('two times of the day, like "22:00-07:00"')
    hours = [int(each) for each in found.groups()]
    quiet = QuietHours(60 * hours[0] + hours[1], 60 * hours[2] + hours[3])
    if quiet.begin == quiet.end:
        raise InvalidValue('two different times of the day, like "22:00-07:00"')
    return quiet


NOTIFY: Mapping[str, Rule] = MappingProxyType(
    {
        "to": secret_name,
        "severity": rules.one_of("notice", "suspect", "alarm"),
        "kinds": rules.list_of(rules.text, "kinds of findings"),
        "machines": rules.list_of(rules.name, "names of machines"),
        "tags": rules.list_of(rules.name, "tags"),
        "quiet": quiet_hours,
        "every": rules.number(10, 86_400, "seconds"),
    }
)
