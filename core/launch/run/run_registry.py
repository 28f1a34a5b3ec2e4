"""All runs that one room knows: published to the fleet, and saved in the database."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from core.errors import StorageError
from core.events import Event, RunChanged
from core.launch.run.run_store import RunStore
from core.model.order import Instance
from core.model.run import Run, RunState
from core.signal import Signal

RESUMED_WITHIN_S = 86_400.0
"""Seconds after its end for which the logs of a lost run are read again when they change."""


class RunRegistry:
    """The runs of one room.

    Args:
        store: The database; None: evalroom has none, so runs can be watched but not launched.
        instance: This instance of evalroom.
        post: Takes the events.
        now: Returns the desk's time, Unix seconds.
    """

    def __init__(
        self,
        store: RunStore | None,
        *,
        instance: Instance,
        post: Callable[[Event], None],
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._instance = instance
        self._post = post
        self._now = now
        self._runs: dict[str, Run] = {}
        self._unsaved: set[str] = set()
        self._changed = Signal[Run]()
        self.starting: set[str] = set()
        """Ids of the runs that this room is starting; only the starter changes them."""

    @property
    def runs(self) -> Mapping[str, Run]:
        """All runs by id."""
        return MappingProxyType(self._runs)

    def open_runs(self) -> Iterable[Run]:
        """Return the runs to poll: not over, with a process left, or lost within the last day.

        Somebody may resume a lost run. Runs that this room is just starting are left out.
        """
        return [
            run
            for run in self._runs.values()
            if (not run.is_over or run.leftover or self._may_be_resumed(run))
            and run.id not in self.starting
        ]

    def _may_be_resumed(self, run: Run) -> bool:
        is_recent = self._now() - (run.ended_at or run.at) < RESUMED_WITHIN_S
        return run.state is RunState.LOST and is_recent

    async def add(self, runs: Sequence[Run]) -> None:
        """Store new runs, then publish them.

        Raises:
            StorageError: The runs were neither stored nor published.
        """
        if self._store is None:
            raise StorageError(
                "evalroom has no usable history, so it can't store a run",
                "make its history usable first",
            )
        await self._store.add(runs, self._instance)
        for run in runs:
            self.publish(run)

    def publish(self, run: Run) -> None:
        """Post a run's state to the fleet if it changed. Does not save it."""
        if self._runs.get(run.id) != run:
            self._runs[run.id] = run
            self._post(RunChanged(at=self._now(), run=run))
            self._changed.emit(run)

    def on_change(
        self, callback: Callable[[Run], None], runs: AbstractSet[str]
    ) -> Callable[[], None]:
        """Call `callback` at every change of the runs with these ids; return a function to stop."""

        def filtered(run: Run) -> None:
            if run.id in runs:
                callback(run)

        return self._changed.connect(filtered)

    async def update(self, run: Run) -> Run:
        """Publish a run's state if it changed and save it; a failed save is retried later."""
        if self._runs.get(run.id) != run:
            self.publish(run)
            if run.is_ours:
                await self._save(run)
        return run

    async def _save(self, run: Run) -> None:
        if self._store is None:
            return
        try:
            await self._store.save(run)
        except StorageError:
            self._unsaved.add(run.id)
        else:
            self._unsaved.discard(run.id)

    async def retry_saves(self) -> None:
        """Save the runs whose last save failed."""
        for each in sorted(self._unsaved):
            await self._save(self._runs[each])

    async def load(self, limit: int) -> None:
        """Publish the stored runs, with the changes of this operator's other instances.

        Args:
            limit: Maximum number of runs.

        Raises:
            StorageError: The database can't be read.
        """
        if self._store is None:
            return
        for run in reversed(await self._store.recent(limit)):
            known = self._runs.get(run.id)
            is_known_better = run.id in self.starting | self._unsaved or (known and known.is_over)
            if not is_known_better:
                self.publish(run)

    async def abandoned(self) -> frozenset[str]:
        """Return the ids of open runs that no other living instance is starting.

        Raises:
            StorageError: The database can't be read.
        """
        return frozenset() if self._store is None else await self._store.abandoned(self._instance)
