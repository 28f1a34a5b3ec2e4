"""The state of a target, as read just before a plan is made or an order is sent."""

from dataclasses import dataclass

from core.ctl.features import Surface
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.model.knobs import ConfigView
from core.model.sample import Sample, SampleStatus
from core.model.task import TaskRow


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSnapshot:
    """A fresh read of what one action on one target depends on.

    Attributes:
        rows: The task rows of the process; empty where its control channel does not answer.
        surface: Its routes; None: the process did not list them.
        sample: The target's sample; None: the target is not a sample, or it has not started.
        config: The knobs, for `config`; also the log buffer, for signals.
        argv: The command line of the process; empty: unknown.
        answers: Whether the control channel answered at all.
    """

    rows: tuple[TaskRow, ...] = ()
    surface: Surface | None = None
    sample: Sample | None = None
    config: ConfigView | None = None
    argv: tuple[str, ...] = ()
    answers: bool = True

    def row(self, target: Target) -> TaskRow | None:
        """Return the row of a target's task; for a process or a model the first running one."""
        match target:
            case TaskKey():
                found = [row for row in self.rows if row.task_id == target.task_id]
            case SampleKey():
                found = [row for row in self.rows if row.task_id == target.task.task_id]
            case ModelKey():
                found = [row for row in self.rows if row.model == target.model]
            case _:
                found = list(self.rows)
        running = [row for row in found if not row.is_completed]
        return next(iter((*running, *found)), None)

    def running_of(self, target: Target) -> tuple[TaskRow, ...]:
        """Return the rows of a target's tasks that are not over."""
        match target:
            case TaskKey() | SampleKey():
                return tuple(row for row in self.running if row is self.row(target))
            case ModelKey():
                return tuple(row for row in self.running if row.model == target.model)
            case ProcessKey():
                return self.running

    @property
    def running(self) -> tuple[TaskRow, ...]:
        """The rows of tasks that are not over."""
        return tuple(row for row in self.rows if not row.is_completed)

    @property
    def unstarted(self) -> int:
        """Tasks of a set that have not started; they have no row yet."""
        tasks = self.config.max_tasks if self.config is not None else None
        return (tasks.pending or 0) if tasks is not None else 0

    @property
    def sample_status(self) -> str:
        """The status of the target's sample; one without a row is pending."""
        return str(SampleStatus.PENDING) if self.sample is None else self.sample.status
