"""All runs that one room knows, as they stand: told to the fleet, and kept on disk."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from core.errors import StorageError
from core.events import Event, RunChanged
from core.launch.run.run_store import RunStore
from core.model.order import Instance
from core.model.run import Run
from core.signal import Signal


class RunRegistry:
    """The runs of one room.

    Args:
        store: Where they are kept; None: nothing can be launched, only seen.
        instance: This evalroom.
        post: Takes the events.
        now: The desk's time, Unix seconds.
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
        self.held: set[str] = set()
        """Runs that are being started from here: nobody else changes them."""

    @property
    def runs(self) -> Mapping[str, Run]:
        """All of them by their ids."""
        return MappingProxyType(self._runs)

    @property
    def can_keep(self) -> bool:
        """Whether there is a disk to keep runs on."""
        return self._store is not None

    def open(self) -> Iterable[Run]:
        """Return those of which something more may come, but for what is being started here."""
        return [run for run in self._runs.values() if not run.is_over and run.id not in self.held]

    async def add(self, runs: Sequence[Run]) -> None:
        """Write new runs down and tell of them.

        Raises:
            StorageError: They are not on disk; nothing was told.
        """
        if self._store is None:
            raise StorageError("runs can't be kept here: there is no history", "mend that first")
        await self._store.add(runs, self._instance)
        for run in runs:
            self.see(run)

    def see(self, run: Run) -> None:
        """Tell of a run as it stands, where that is news; it is on disk, or is not ours."""
        if self._runs.get(run.id) != run:
            self._runs[run.id] = run
            self._post(RunChanged(at=self._now(), run=run))
            self._changed.emit(run)

    def listen(self, hear: Callable[[Run], None], runs: AbstractSet[str]) -> Callable[[], None]:
        """Call `hear` for every change of these runs; returns what ends it."""

        def of_these(run: Run) -> None:
            if run.id in runs:
                hear(run)

        return self._changed.connect(of_these)

    async def change(self, run: Run) -> Run:
        """Tell of a run as it stands now and write it down; what can't be written is later."""
        if self._runs.get(run.id) != run:
            self.see(run)
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

    async def save_again(self) -> None:
        """Write what could not be written before."""
        for each in sorted(self._unsaved):
            await self._save(self._runs[each])

    async def load(self, limit: int) -> None:
        """Tell of the runs on disk, also as another evalroom of this operator changed them.

        Raises:
            StorageError: They can't be read.
        """
        if self._store is None:
            return
        for run in reversed(await self._store.recent(limit)):
            known = self._runs.get(run.id)
            is_known_better = run.id in self.held | self._unsaved or (known and known.is_over)
            if not is_known_better:
                self.see(run)

    async def abandoned(self) -> frozenset[str]:
        """Return the open runs that no other living evalroom is about to start.

        Raises:
            StorageError: They can't be read.
        """
        return frozenset() if self._store is None else await self._store.abandoned(self._instance)
