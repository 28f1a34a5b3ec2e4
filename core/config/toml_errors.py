"""Turns errors of the TOML parser into a line and a sentence."""

import re

from core.text import shown

TOML_HINT = "fix the TOML syntax (https://toml.io)"
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def parse_error(message: str) -> tuple[int | None, str]:
    """Return the line of a `tomllib.TOMLDecodeError` and the fault there.

    Args:
        message: The error's message, which may quote the file.

    Returns:
        The line, or None for the end of the file; and a sentence that is safe to show.
    """
    place = _PLACE.search(message)
    if place is None:
        return None, shown(message)
    what = shown(message[: place.start()])
    return (int(place[1]), what) if place[1] else (None, f"at the end of the file: {what}")
