"""The store of a command that watches for a moment only."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.events import Event
from core.finding_events import SameFinding
from core.ids import TaskKey
from core.model.finding import Finding
from core.model.task import ProgressPoint
from core.ports import EventStore, MutesRead


@dataclass(frozen=True, slots=True)
class BriefStore:
    """Stores all but findings that close by themselves and are still open.

    The command ends before they do, and knows no earlier ones: each of its runs would leave one
    more that nothing closes. A room or a watch finds them again.
    """

    store: EventStore

    async def keep(self, events: Sequence[Event]) -> None:
        """Store events, as `EventStore.keep`."""
        await self.store.keep(events)

    async def keep_progress(self, points: Sequence[tuple[TaskKey, ProgressPoint]]) -> None:
        """Store points of progress, as `EventStore.keep_progress`."""
        await self.store.keep_progress(points)

    async def keep_findings(self, findings: Sequence[Finding]) -> Sequence[SameFinding]:
        """Store the findings that are closed or wait for the operator."""
        kept = [each for each in findings if each.closed_at is not None or each.is_kept]
        return await self.store.keep_findings(kept) if kept else ()

    async def acknowledged(self, findings: Sequence[str]) -> Sequence[Finding]:
        """Return the acknowledged ones of these findings, as `EventStore.acknowledged`."""
        return await self.store.acknowledged(findings)

    async def mutes_after(self, number: int) -> MutesRead:
        """Return the mutes after this number, as `EventStore.mutes_after`."""
        return await self.store.mutes_after(number)

    async def progress(self, task: TaskKey) -> Sequence[ProgressPoint]:
        """Return a task's kept points, as `EventStore.progress`."""
        return await self.store.progress(task)
