"""Groups errors by cause: their type and the first line of their message, without its variables."""

import re
from collections.abc import Iterable

from core.model.log_summary import ErrorGroup
from core.model.sample import SampleId

MAX_GROUPS = 20
"""Groups of one log; the errors of further causes become one group."""
OTHER_CAUSES = "other causes"
_MAX_CAUSE_CHARACTERS = 200
_MAX_READ_CHARACTERS = 500
_LINE_END = re.compile(r"\\r|\\n|[\r\n]")
_REPR = re.compile(r"(?P<type>[A-Za-z_][\w.]{0,100})\((?P<quote>['\"])(?P<message>.*)\Z", re.DOTALL)
_EMPTY_REPR = re.compile(r"(?P<type>[A-Za-z_][\w.]{0,100})\(\)\Z")
_VARYING = (
    (re.compile(r"(?:\\x1b|\x1b)\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|`[^`]*`"), "'…'"),
    (re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\")\]]+"), "…"),
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b"), "…"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "…"),
    (re.compile(r"\b(?=[a-zA-Z]*\d)[0-9a-zA-Z]{16,}\b"), "…"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "N"),
)
"""Parts that differ between errors of one cause, each with its replacement."""


def cause_of(text: str) -> str:
    """Return the cause of an error.

    Args:
        text: Its text in a log: the repr of an exception, or its own message; it may be cut.

    Returns:
        `Type: first line` with quoted texts and ids as `…` and numbers as `N`; never empty.
    """
    text = text[:_MAX_READ_CHARACTERS].strip()
    if empty := _EMPTY_REPR.match(text):
        return empty["type"]
    kind, message = "", text
    if found := _REPR.match(text):
        kind, message = found["type"], found["message"]
        message = re.sub(re.escape(found["quote"]) + r"(?:,[^'\"]*)?\)\Z", "", message)
    lines = (" ".join(line.split()) for line in _LINE_END.split(message))
    line = next((line for line in lines if line), "")
    for pattern, replacement in _VARYING:
        line = pattern.sub(replacement, line)
    cause = ": ".join(part for part in (kind, line) if part)
    if len(cause) > _MAX_CAUSE_CHARACTERS:
        cause = cause[: _MAX_CAUSE_CHARACTERS - 1] + "…"
    return cause or "an error without a message"


def grouped(errors: Iterable[tuple[str, int, SampleId]]) -> tuple[ErrorGroup, ...]:
    """Group errors by cause, the most frequent first.

    Args:
        errors: For each text: (text, how many samples have it, one of these samples).
    """
    counts, examples = dict[str, int](), dict[str, SampleId]()
    for text, number, example in errors:
        cause = cause_of(text)
        counts[cause] = counts.get(cause, 0) + number
        examples.setdefault(cause, example)
    groups = sorted(
        (ErrorGroup(cause, number, examples[cause]) for cause, number in counts.items()),
        key=lambda group: -group.count,
    )
    if len(groups) <= MAX_GROUPS:
        return tuple(groups)
    rest = groups[MAX_GROUPS - 1 :]
    other = ErrorGroup(OTHER_CAUSES, sum(group.count for group in rest), rest[0].example)
    return (*groups[: MAX_GROUPS - 1], other)
