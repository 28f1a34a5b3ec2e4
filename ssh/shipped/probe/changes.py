"""Detects whether an answer changed, apart from its clock fields."""

import json
import math
import re

AS_OF_FIRST = re.compile(rb'\s*\{\s*"as_of"\s*:\s*([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*[,}]')


def number(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return value if math.isfinite(value) else None
        except OverflowError:
            return None
    return None


def top_as_of(body):
    """Return the `as_of` of an envelope; parses the JSON only if `as_of` does not come first."""
    first = AS_OF_FIRST.match(body)
    if first:
        return float(first.group(1))
    try:
        found = json.loads(body.decode("utf-8", "replace"))
        value = found.get("as_of")
    except (ValueError, RecursionError, AttributeError):
        return None
    return number(value)


def clocks_pattern(names):
    """Return a pattern that finds the named members of JSON text.

    A quote inside a JSON string is always escaped, so `"name":` can only be a member's name.
    A text of more than 100 characters is not a time, and its end is not searched: `re` would
    keep a hundred bytes for each of its characters.
    """
    if not names:
        return None
    scalar = rb'(?:"(?:[^"\\]|\\.){0,100}"|[-+.0-9eE]+|null|NaN|-?Infinity)'
    alternatives = b"|".join(re.escape(name.encode("utf-8")) for name in names)
    return re.compile(rb'"(?:' + alternatives + rb')"\s*:\s*' + scalar)


def without_clocks(pattern, body):
    """Return (length, hash) of an answer without the matches of `pattern`, without copying it."""
    mark = at = length = 0
    for found in pattern.finditer(body):
        length += found.start() - at
        mark = hash((mark, body[at : found.start()]))
        at = found.end()
    return length + len(body) - at, hash((mark, body[at:]))
