"""Which addresses heard of which findings: shared by all instances of an operator."""

import secrets
import sqlite3
from collections.abc import Collection, Sequence

from core.model.finding import SEVERITIES, Finding
from core.notify.claims import LEASE_S, Claim
from storage.database import Database
from storage.event_columns import column_text
from storage.finding_rows import forget_told

_BEGUN = ""
"""In place of the id of a finding: a room began to notify this address, of whatever there was."""

_PUT = """
INSERT INTO told (account, finding, severity, at, desk, is_sent) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (account, finding) DO UPDATE SET
 severity = excluded.severity, at = excluded.at, desk = excluded.desk, is_sent = excluded.is_sent
"""


class ToldRecord:
    """Implements `core.notify.claims.Claims` with the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._desk = secrets.token_hex(4)

    async def note_known(self, account: str, findings: Sequence[Finding], now: float) -> None:
        """See `Claims.note_known`."""

        def work(connection: sqlite3.Connection) -> None:
            forget_told(connection, now)
            sql = "SELECT 1 FROM told WHERE account = ? LIMIT 1"
            is_new = connection.execute(sql, (account,)).fetchone() is None
            rows = [(account, *_columns(each), now, "", 1) for each in findings if is_new]
            connection.executemany(_PUT, [(account, _BEGUN, 0, now, "", 1), *rows])

        await self._database.write(work)

    async def claim(
        self, account: str, findings: Sequence[Finding], *, now: float, every: float
    ) -> Claim:
        """See `Claims.claim`."""
        return await self._database.write(
            lambda connection: self._claim(connection, account, findings, (now, every))
        )

    def _claim(
        self,
        connection: sqlite3.Connection,
        account: str,
        findings: Sequence[Finding],
        times: tuple[float, float],
    ) -> Claim:
        now, every = times
        mine: list[Finding] = []
        told: list[Finding] = []
        for finding in findings:
            name, severity = _columns(finding)
            row = connection.execute(
                "SELECT severity, at, desk, is_sent FROM told WHERE account = ? AND finding = ?",
                (account, name),
            ).fetchone()
            if row is None or row["severity"] < severity:
                mine.append(finding)
            elif row["is_sent"]:
                told.append(finding)
            elif row["desk"] == self._desk or not 0 <= now - row["at"] < LEASE_S:
                mine.append(finding)
        heard = frozenset(each.id for each in told)
        [(last,)] = connection.execute(
            "SELECT max(at) FROM told WHERE account = ? AND desk NOT IN (?, '') AND at <= ?",
            (account, self._desk, now),
        ).fetchall()
        if last is not None and now - last < every:
            return Claim(told=heard, silent_until=last + every)
        rows = [(account, *_columns(each), now, self._desk, 0) for each in mine]
        connection.executemany(_PUT, rows)
        return Claim(mine=frozenset(each.id for each in mine), told=heard)

    async def note_sent(self, account: str, findings: Collection[str], now: float) -> None:
        """See `Claims.note_sent`."""
        rows = [(now, account, column_text(each), self._desk) for each in findings]
        sql = "UPDATE told SET is_sent = 1, at = ? WHERE account = ? AND finding = ? AND desk = ?"
        await self._database.write(lambda connection: connection.executemany(sql, rows))

    async def give_up(self, account: str, findings: Collection[str]) -> None:
        """See `Claims.give_up`."""
        rows = [(account, column_text(each), self._desk) for each in findings]
        sql = "DELETE FROM told WHERE account = ? AND finding = ? AND desk = ? AND NOT is_sent"
        await self._database.write(lambda connection: connection.executemany(sql, rows))


def _columns(finding: Finding) -> tuple[str, int]:
    return column_text(finding.id), SEVERITIES.index(finding.severity)
