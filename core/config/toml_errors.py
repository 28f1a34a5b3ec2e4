"""What the TOML parser says is wrong, as the line and a sentence of ours."""

import re

from core.text import shown

NO_TOML = "it is no valid TOML (https://toml.io)"
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def said_of(message: str) -> tuple[int | None, str]:
    """Return the line of a `tomllib.TOMLDecodeError`, None at the end, and what is wrong there.

    Args:
        message: The error's own; what it quotes of the file is made harmless.
    """
    place = _PLACE.search(message)
    if place is None:
        return None, shown(message)
    said = shown(message[: place.start()])
    return (int(place[1]), said) if place[1] else (None, f"at its end: {said}")
