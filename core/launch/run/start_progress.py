"""Runs on their way: what was told of each since they were confirmed."""

from collections.abc import Sequence

from core.launch.preflight.checks import CheckedPlan
from core.model.run import Run
from core.signal import Signal
from core.text import Shown


class StartProgress:
    """Runs on their way, from the Enter that confirmed them.

    Attributes:
        checked: What was confirmed.
        is_running: Some are still being started.
        updated: Emitted when a run, or the whole, changed.
        failed: Why starting broke off; None: it did not.
    """

    def __init__(self, checked: Sequence[CheckedPlan]) -> None:
        self.checked = tuple(checked)
        self.is_running = True
        self.failed: Shown | None = None
        self._runs: dict[str, Run] = {}
        self.updated: Signal[None] = Signal()

    @property
    def runs(self) -> Sequence[Run]:
        """The runs as they were told last."""
        return tuple(self._runs.values())

    def tell(self, run: Run) -> None:
        """Take in how a run stands."""
        self._runs[run.id] = run
        self.updated.emit(None)

    def end(self, failed: Shown | None) -> None:
        """Nothing of it is being started any more."""
        self.is_running, self.failed = False, failed
        self.updated.emit(None)
