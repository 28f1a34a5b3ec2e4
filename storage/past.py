"""Reads from the history what a new room begins with."""

import sqlite3
from pathlib import Path
from typing import Any, cast

import msgspec

from core.desk.past import NOTHING, Past
from core.event_codec import event_of
from core.events import Event
from core.finding_events import FindingsMuted
from core.model.finding import Finding, Severity
from core.strict_json import convert, encode, parsed
from core.task_events import SpinUpTimed
from storage.readonly import query_readonly

MAX_EVENTS = 5_000
"""Events that are read; with more, the oldest are left out."""
_BEFORE_S = 604_800.0
"""How long before `since` a process may have been seen that had not ended then, seconds."""
MAX_FINDINGS = 500
_SEVERITY_OF_TONE: dict[str, Severity] = {
    "look": "suspect",
    "warning": "suspect",
    "hand": "alarm",
    "error": "alarm",
}
"""Tones of findings in older histories, each with the severity that it stands for."""
_EVENTS = (
    "SELECT body FROM event WHERE at >= ? AND kind IN ('DeadEvalFound', 'Dismissed', 'LogRead',"
    " 'LogUnreadable', 'ProcessGone', 'ProcessSeen', 'SurfaceRead', 'TasksSeen')"
    " ORDER BY id DESC LIMIT ?"
)


_STALE = (
    "SELECT body FROM finding WHERE at < ? AND CASE WHEN json_valid(body)"
    " THEN json_extract(body, '$.closed_at') IS NULL"
    " AND coalesce(json_extract(body, '$.is_kept'), 0) = 0 END ORDER BY at DESC LIMIT ?"
)
_SPIN_UPS = "SELECT body FROM event WHERE kind = 'SpinUpTimed' AND at >= ? ORDER BY id DESC LIMIT ?"
MAX_SPIN_UPS = 2_000
"""Newest spin-ups that are read."""
_SPIN_UPS_KEPT_S = 30 * 86_400.0
"""How long before `since` a spin-up may have been, seconds."""
_MUTES = "SELECT number, body FROM mute WHERE number > ? AND desk <> ? ORDER BY number"


def past_readonly(path: Path, since: float) -> Past:
    """Return what the history in this file knows since then, Unix seconds; it is not changed.

    Raises:
        StorageError: The file can't be read, or belongs to another program.
    """
    return query_readonly(path, "finding", lambda connection: read_past(connection, since), NOTHING)


def read_past(connection: sqlite3.Connection, since: float) -> Past:
    """Return what the history knows since then, Unix seconds; unreadable rows are left out."""
    events = connection.execute(_EVENTS, (since - _BEFORE_S, MAX_EVENTS)).fetchall()
    findings = connection.execute(
        "SELECT body FROM finding WHERE at >= ? OR CASE WHEN json_valid(body)"
        " THEN json_extract(body, '$.is_kept') AND json_extract(body, '$.closed_at') IS NULL"
        " END ORDER BY at DESC LIMIT ?",
        (since, MAX_FINDINGS),
    ).fetchall()
    stale = connection.execute(_STALE, (since, MAX_FINDINGS)).fetchall()
    spin_ups = connection.execute(_SPIN_UPS, (since - _SPIN_UPS_KEPT_S, MAX_SPIN_UPS)).fetchall()
    timed = [_event(body) for (body,) in reversed(spin_ups)]
    return Past(
        spin_ups=tuple(event for event in timed if isinstance(event, SpinUpTimed)),
        events=tuple(event for (body,) in reversed(events) if (event := _event(body)) is not None),
        findings=tuple(
            finding for (body,) in reversed(findings) if (finding := finding_of(body)) is not None
        ),
        stale=tuple(
            finding for (body,) in reversed(stale) if (finding := finding_of(body)) is not None
        ),
        since=since,
        mutes=tuple(event for _, event in read_mutes(connection, 0)),
    )


def read_mutes(
    connection: sqlite3.Connection, after: int, *, without: str = ""
) -> list[tuple[int, FindingsMuted]]:
    """Return the mutes after this number, oldest first; those of the desk `without` are left out.

    Unreadable ones are left out, too. An older history has none.
    """
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'mute'").fetchone():
        return []
    rows = connection.execute(_MUTES, (after, without)).fetchall()
    events = ((number, _event(body)) for number, body in rows)
    return [(number, event) for number, event in events if isinstance(event, FindingsMuted)]


def finding_body(finding: Finding) -> str:
    """Return a finding as JSON for its row."""
    return encode(msgspec.to_builtins(finding), keeps_surrogates=True)


def last_change(finding: Finding) -> float:
    """Return when a finding last opened, changed or closed, Unix seconds at the desk."""
    return max(finding.opened_at, finding.changed_at or 0.0, finding.closed_at or 0.0)


def _event(body: str) -> Event | None:
    try:
        return event_of(body)
    except ValueError:
        return None


def finding_of(body: str) -> Finding | None:
    """Return the finding of a row; None: it can't be read."""
    try:
        fields: Any = parsed(body)
        if isinstance(fields, dict):
            known = cast("dict[str, Any]", fields)
            if (tone := known.pop("tone", None)) is not None:
                known.setdefault("severity", _SEVERITY_OF_TONE.get(str(tone), "notice"))
        return cast("Finding", convert(cast("object", fields), Finding))
    except ValueError:
        return None
