"""Runs on their way: what was told of each since they were confirmed."""

from collections.abc import Callable, Sequence

from core.launch.preflight.checks import CheckedPlan
from core.model.run import Run
from core.text import Shown


class StartProgress:
    """Runs on their way, from the Enter that confirmed them.

    Attributes:
        checked: What was confirmed.
        is_running: Some are still being started.
        failed: Why starting broke off; None: it did not.
    """

    def __init__(self, checked: Sequence[CheckedPlan]) -> None:
        self.checked = tuple(checked)
        self.is_running = True
        self.failed: Shown | None = None
        self._runs: dict[str, Run] = {}
        self._hearers: list[Callable[[], None]] = []

    @property
    def runs(self) -> Sequence[Run]:
        """The runs as they were told last."""
        return tuple(self._runs.values())

    def listen(self, hear: Callable[[], None]) -> Callable[[], None]:
        """Call `hear` whenever something is told; returns what ends that."""
        self._hearers.append(hear)
        return lambda: self._hearers.remove(hear) if hear in self._hearers else None

    def tell(self, run: Run) -> None:
        """Take in how a run stands."""
        self._runs[run.id] = run
        self._say()

    def end(self, failed: Shown | None) -> None:
        """Nothing of it is being started any more."""
        self.is_running, self.failed = False, failed
        self._say()

    def _say(self) -> None:
        for hear in tuple(self._hearers):
            hear()
