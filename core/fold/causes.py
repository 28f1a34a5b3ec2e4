"""Why samples of running tasks errored: the newest causes, for each sample one."""

from types import MappingProxyType

from core.fold.immutable import with_fields
from core.model.error_causes import ErrorCauses, grouped_causes
from core.model.sample import SampleId, SampleStatus
from core.model.task import Task
from core.task_events import CausesSeen

MAX_KNOWN = 500
"""Newest samples of a task whose causes are kept."""


def see_causes(task: Task | None, event: CausesSeen) -> Task | None:
    """Return a task with the causes of an answer; those of samples that run again are dropped."""
    if task is None or task.logged is not None or task.row.eval_id != event.eval_id:
        return task
    known = task.causes if task.causes.eval_id == event.eval_id else ErrorCauses()
    listed: dict[SampleId, str] = {(each, epoch): cause for each, epoch, cause in event.causes}
    before = {key: cause for key, cause in known.of.items() if key not in listed}
    words = {cause: cause for cause in before.values()}
    new = {key: words.setdefault(cause, cause) for key, cause in listed.items()}
    still = {key: cause for key, cause in (before | new).items() if _is_errored(task, key)}
    newest = dict(list(still.items())[-MAX_KNOWN:])
    causes = ErrorCauses(
        of=MappingProxyType(newest),
        groups=grouped_causes((cause, 1, key) for key, cause in newest.items()),
        eval_id=event.eval_id,
        as_of=event.as_of or known.as_of,
        heard_at=event.at,
        errored=task.row.samples.errored,
    )
    return with_fields(task, causes=causes)


def _is_errored(task: Task, key: SampleId) -> bool:
    """Return whether a sample is errored, as far as it is known."""
    row = task.samples.get(key)
    return row is None or row.status == SampleStatus.ERROR
