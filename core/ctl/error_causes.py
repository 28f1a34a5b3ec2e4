"""Groups errors by cause: their type and the first line of their message, without its variables."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from core.ctl.decode import count, first_rows, number, parse_object, some_raw_fields, text
from core.errors import AnswerMalformed
from core.model.error_causes import grouped_causes
from core.model.log_summary import ErrorGroup
from core.model.sample import SampleId

MAX_CAUSE_ROWS = 50
"""Errored samples whose causes are read at once."""
_MAX_NUMBER_BYTES = 40
_MAX_CAUSE_CHARACTERS = 200
_MAX_READ_CHARACTERS = 500
_LINE_END = re.compile(r"\\r|\\n|[\r\n]")
_REPR = re.compile(r"(?P<type>[A-Za-z_][\w.]{0,100})\((?P<quote>['\"])(?P<message>.*)\Z", re.DOTALL)
_EMPTY_REPR = re.compile(r"(?P<type>[A-Za-z_][\w.]{0,100})\(\)\Z")
_VARYING = (
    (re.compile(r"(?:\\x1b|\x1b)\[[0-9;]*[A-Za-z]"), ""),
    (
        re.compile(
            r"(?<!\w)[bBfFrRuU]{0,2}\\?'(?:[^']|'(?=\w))*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|`[^`]*+(?:`|\Z)"
        ),
        "'…'",
    ),  # also one that ends in a later line, or behind the cut
    (re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\")\]]+"), "…"),
    (re.compile(r"(?<![\w/.-])(/var/[\w.-]+/[\w.-]+)(?:/[\w.@+-]*)+"), r"\1/…"),
    (re.compile(r"(?<![\w/.-])(?!/var/)(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]*)*"), "…"),
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b"), "…"),
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "…"),
    (re.compile(r"\b(?=[a-zA-Z]*\d)[0-9a-zA-Z]{16,}\b"), "…"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "N"),
)
"""Parts that differ between errors of one cause, each with its replacement. Of a path below `/var`
the program that owns it stays, such as Docker."""


def cause_of(text: str) -> str:
    """Return the cause of an error.

    Args:
        text: Its text in a log: the repr of an exception, or its own message; it may be cut.

    Returns:
        `Type: first line` with quoted texts, paths and ids as `…` and numbers as `N`; never empty.
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
    return grouped_causes((cause_of(text), number, example) for text, number, example in errors)


@dataclass(frozen=True, slots=True)
class ReadCauses:
    """The answer to a read of errored samples with their texts; the texts are dropped.

    Attributes:
        as_of: Unix seconds on the eval's own clock; 0 if the server does not send it.
        causes: The cause of each listed sample: (sample id, epoch, cause).
    """

    as_of: float
    causes: tuple[tuple[str | int, int, str], ...]


def read_causes(body: bytes) -> ReadCauses:
    """Decode `GET /evals/E/samples?status=error&content=true`; a malformed row is left out.

    Raises:
        AnswerMalformed: It is not an object with `samples`.
    """
    fields = some_raw_fields(body, ("as_of", "samples"))
    listed = fields.get("samples")
    if listed is None:
        raise AnswerMalformed("the answer has no list of samples")
    causes: list[tuple[str | int, int, str]] = []
    for raw in first_rows(listed, MAX_CAUSE_ROWS).items:
        with suppress(AnswerMalformed):
            row = parse_object(raw)
            sample_id, epoch, error = row.get("sample_id"), count(row, "epoch"), text(row, "error")
            is_id = isinstance(sample_id, str | int) and not isinstance(sample_id, bool)
            if is_id and epoch is not None and error is not None:
                causes.append((cast("str | int", sample_id), epoch, cause_of(error)))
    as_of = parse_object(b'{"as_of":%s}' % fields.get("as_of", b"null")[:_MAX_NUMBER_BYTES])
    return ReadCauses(number(as_of, "as_of") or 0.0, tuple(causes))
