"""Texts and times of logs, cut to a size."""

import json
from datetime import datetime, timezone

MAX_FAILURE_CHARACTERS = 300


class Refused(Exception):
    """A log that is not read, for the reason in its text."""


def failure_text(error):
    """Return why something failed, in one short text."""
    if isinstance(error, FileNotFoundError):
        return "the file does not exist"
    if isinstance(error, PermissionError):
        return "this user may not read the file"
    text = " ".join(str(error).split())
    if isinstance(error, Refused):
        return text[:MAX_FAILURE_CHARACTERS]
    return ("%s: %s" % (type(error).__name__, text)).rstrip(": ")[:MAX_FAILURE_CHARACTERS]


def cut(text, limit):
    """Return a text of at most `limit` characters, and say how many were cut off."""
    if text is None or len(text) <= limit:
        return text
    return "%s\n(cut at %d of %d characters)" % (text[:limit], limit, len(text))


def as_text(value):
    """Return a text as it is, and any other value as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def unix_seconds(moment):
    """Return a moment of a log (text or datetime) as Unix seconds; None if it is neither."""
    try:
        if isinstance(moment, str):
            moment = datetime.fromisoformat(moment.replace("Z", "+00:00"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.timestamp()
    except (ValueError, TypeError, AttributeError, OverflowError, OSError):
        return None
