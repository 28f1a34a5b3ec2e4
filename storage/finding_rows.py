"""Findings as rows of the history. Several rooms may write the same finding at once."""

import json
import sqlite3
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from core.finding_events import SameFinding
from core.judge.finding_list import covers
from core.model.finding import Finding
from storage.event_columns import column_text
from storage.past import finding_body, finding_of, last_change

TOLD_KEPT_S = 90 * 86_400.0
"""How long it is remembered that an address heard of a finding, seconds."""

_KEEP = """
INSERT INTO finding (id, at, body) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET at = excluded.at, body = excluded.body
"""
_ACKNOWLEDGED = """
SELECT id, body FROM finding WHERE id IN (SELECT value FROM json_each(?))
AND CASE WHEN json_valid(body) THEN json_extract(body, '$.acknowledged_at') END IS NOT NULL
"""
_LIKE = "SELECT body FROM finding WHERE id >= ? AND id < ?"
"""The findings whose ids begin alike; ids are in order, so that this reads few rows."""


def acknowledged_findings(
    connection: sqlite3.Connection, findings: Sequence[str]
) -> dict[str, Finding]:
    """Return the stored findings of these ids that are acknowledged, by id."""
    names = {column_text(each): each for each in findings}
    rows = connection.execute(_ACKNOWLEDGED, (json.dumps(list(names)),)).fetchall()
    found = ((names[name], finding_of(body)) for name, body in rows)
    return {name: finding for name, finding in found if finding is not None}


def write_findings(
    connection: sqlite3.Connection, findings: Sequence[Finding]
) -> tuple[SameFinding, ...]:
    """Write findings, in the transaction of the caller; an acknowledgement that holds is kept.

    Returns:
        The findings that another room has open, which were written under the ids of that room.
    """
    same: list[SameFinding] = []
    named: list[Finding] = []
    closing = {each.id for each in findings if not each.is_open}
    for finding in findings:
        twin = _open_twin(connection, finding, closing) if finding.is_open else None
        if twin is None:
            named.append(finding)
            continue
        opened_at = min(twin.opened_at, finding.opened_at)
        names = (column_text(twin.id), column_text(finding.id))
        connection.execute("UPDATE OR IGNORE told SET finding = ? WHERE finding = ?", names)
        same.append(SameFinding(own=finding.id, id=twin.id, opened_at=opened_at))
        named.append(replace(finding, id=twin.id, opened_at=opened_at))
    stored = acknowledged_findings(connection, [each.id for each in named])
    for finding in named:
        kept, before = finding, stored.get(finding.id)
        if before is not None and finding.acknowledged_at is None and covers(before, finding):
            if before.is_kept:
                continue
            kept = replace(finding, acknowledged_at=before.acknowledged_at)
        row = (column_text(kept.id), last_change(kept), finding_body(kept))
        connection.execute(_KEEP, row)
    return tuple(same)


def forget_told(connection: sqlite3.Connection, now: float) -> None:
    """Delete what addresses heard more than `TOLD_KEPT_S` before `now`, Unix seconds."""
    connection.execute("DELETE FROM told WHERE at < ?", (now - TOLD_KEPT_S,))


def _open_twin(
    connection: sqlite3.Connection, finding: Finding, closing: AbstractSet[str]
) -> Finding | None:
    """Return the open finding of another room that tells of the same; None: there is none.

    A finding that the history has open itself has no twin. Those of `closing`, by id, are closed
    by the same write.
    """
    if finding.identity == finding.id:
        return None  # each room gives it this id
    begin = column_text(finding.identity)
    rows = connection.execute(_LIKE, (f"{begin}:", f"{begin};")).fetchall()
    known = [each for (body,) in rows if (each := finding_of(body)) is not None and each.is_open]
    alike = [each for each in known if each.is_same_as(finding) and each.id not in closing]
    if not alike or any(each.id == finding.id for each in alike):
        return None
    return min(alike, key=lambda each: (each.opened_at, each.id))
