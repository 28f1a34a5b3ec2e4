"""The runs of a confirmed launch while they start, for the screen that shows them."""

from collections.abc import Sequence

from core.launch.preflight.checks import CheckedPlan
from core.model.run import Run
from core.signal import Signal
from core.text import Shown


class StartProgress:
    """The runs of one launch, from its confirmation on.

    Attributes:
        checked: The plans that were confirmed.
        is_running: Whether some runs are still being started.
        failed: Why the launch stopped early; None: it did not.
        updated: Emitted when a run or `is_running` changes.
    """

    def __init__(self, checked: Sequence[CheckedPlan]) -> None:
        self.checked = tuple(checked)
        self.is_running = True
        self.failed: Shown | None = None
        self._runs: dict[str, Run] = {}
        self.updated: Signal[None] = Signal()

    @property
    def runs(self) -> Sequence[Run]:
        """The latest state of each run."""
        return tuple(self._runs.values())

    def update(self, run: Run) -> None:
        """Store a run's latest state."""
        self._runs[run.id] = run
        self.updated.emit(None)

    def end(self, failed: Shown | None) -> None:
        """Mark the launch as done; `failed` says why it stopped early."""
        self.is_running, self.failed = False, failed
        self.updated.emit(None)
