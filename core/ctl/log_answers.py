"""Decoder of the log script's answers: one answer for each log (`ssh/shipped/log_script`).

An answer of the script is `{"log": LOCATION, "error": WHY}`, or

    {"log": LOCATION,
     "header": {"status": ..., "eval": {...}, "error": TEXT, "results": {...},
                "started_at": TIME, "completed_at": TIME, "time_limit": SECONDS},
     "samples": {"counts": {...}, "errors": [[TEXT, COUNT, ID, EPOCH], ...], "rows": [...]},
     "trouble": WHY THERE ARE NO SAMPLES}

The rows have the form of the control channel's.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from core.ctl.decode import JsonObject, count, inner, items, number, objects, text
from core.ctl.envelopes import header_metrics, sample_row
from core.ctl.error_causes import cause_of, grouped
from core.errors import AnswerMalformed
from core.model.log_summary import (
    LogBuffer,
    LogCounts,
    LogHeader,
    LogReading,
    LogSamples,
    LogSummary,
    UnreadLog,
)
from core.model.sample import Sample, SampleId
from core.text import shown

_MAX_REASON_CHARACTERS = 300


def log_reading(answer: Mapping[str, Any]) -> LogReading:
    """Decode the script's answer for one log.

    Raises:
        AnswerMalformed: It names no log.
    """
    location = text(answer, "log")
    if location is None:
        raise AnswerMalformed("the log script's answer names no log")
    error = text(answer, "error")
    if error is not None:
        return UnreadLog(location=location, reason=shown(error, _MAX_REASON_CHARACTERS))
    header = log_header(inner(answer, "header"), location)
    if header is None:
        return UnreadLog(location=location, reason="Inspect read a header without a status")
    samples = answer.get("samples")
    if not isinstance(samples, dict):
        why = text(answer, "trouble") or "the log script sent no samples"
        return LogSummary(header=header, trouble=shown(why, _MAX_REASON_CHARACTERS))
    return LogSummary(header=header, samples=log_samples(cast("JsonObject", samples)))


def log_header(row: JsonObject, location: str) -> LogHeader | None:
    """Decode the header of a log; None: it has no status."""
    status = text(row, "status")
    if status is None:
        return None
    what, results, error = inner(row, "eval"), inner(row, "results"), row.get("error")
    return LogHeader(
        location=location,
        status=status,
        eval_id=text(what, "eval_id") or "",
        metrics=header_metrics(results),
        completed_samples=count(results, "completed_samples"),
        total_samples=count(results, "total_samples"),
        has_error=error is not None,
        cause=cause_of(error) if isinstance(error, str) else "",
        task=text(what, "task") or "",
        model=text(what, "model") or "",
        task_id=text(what, "task_id") or "",
        started_at=_unix_seconds(text(row, "started_at")),
        completed_at=_unix_seconds(text(row, "completed_at")),
        time_limit=count(row, "time_limit"),
        total_tokens=count(row, "total_tokens"),
        buffer=_buffer(row),
        last_written_at=number(row, "last_written_at"),
        run=text(what, "run") or "",
        is_copy=row.get("is_copy") is True,
    )


def _buffer(row: JsonObject) -> LogBuffer | None:
    found = inner(row, "buffer")
    completed, in_progress = count(found, "completed"), count(found, "in_progress")
    if completed is None or in_progress is None or max(completed, in_progress) <= 0:
        return None
    return LogBuffer(completed=max(0, completed), in_progress=max(0, in_progress))


def log_samples(row: JsonObject) -> LogSamples:
    """Decode the samples of a log; rows that are not samples are left out."""
    counts = inner(row, "counts")
    completed, errored, cancelled, scored = (
        max(0, count(counts, name) or 0) for name in ("completed", "errored", "cancelled", "scored")
    )
    logged = completed + errored + cancelled
    total = max(count(counts, "total") or 0, logged)
    rows = tuple(_rows(row))
    return LogSamples(
        counts=LogCounts(
            total=total,
            completed=completed,
            errored=errored,
            cancelled=cancelled,
            abandoned=total - logged,
            scored=scored,
        ),
        errors=grouped(_errors(row)),
        rows=rows,
        cut=max(0, logged - len(rows)),
        messages=count(counts, "messages"),
    )


def _rows(row: JsonObject) -> list[Sample]:
    found: list[Sample] = []
    for each in objects(row, "rows"):
        try:
            found.append(sample_row(json.dumps(each).encode()))
        except (AnswerMalformed, ValueError):
            continue
    return found


def _errors(row: JsonObject) -> list[tuple[str, int, SampleId]]:
    found: list[tuple[str, int, SampleId]] = []
    for each in items(row, "errors"):
        match each:
            case [str(cause), int(number), str() | int() as sample_id, int(epoch)]:
                found.append((cause, max(1, number), (sample_id, epoch)))
            case _:
                continue
    return found


def _unix_seconds(moment: str | None) -> float | None:
    if moment is None:
        return None
    try:
        found = datetime.fromisoformat(moment)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
