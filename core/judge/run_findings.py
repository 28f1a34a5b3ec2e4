"""Findings about runs that failed before one of their evals had started."""

from collections.abc import Iterable

from core.fleet import Fleet
from core.judge.finding_list import closed, open_finding, with_id
from core.model.finding import ACKNOWLEDGED, Finding
from core.model.run import Run, RunState


def judge_run(before: Fleet, after: Fleet, run: Run, at: float) -> Iterable[Finding]:
    """Yield the new or closed finding about a run of this operator.

    If the tasks of a run are known, their findings describe it.
    """
    known = before.runs.get(run.id)
    identity = f"run:{run.id}:"
    last = open_finding(after, identity)
    if not run.has_failed:
        if last is not None:
            yield closed(last, at)
        return
    is_news = known is not None and not known.has_failed
    process = after.process_of_run(run)
    if not (run.is_ours and is_news) or (process is not None and process.tasks):
        return
    finding_id = f"{identity}{run.state}"
    if with_id(after, finding_id) is None:
        what = "is lost" if run.state is RunState.LOST else "ended in error"
        name = run.task or run.id
        yield Finding(
            id=finding_id,
            kind="run",
            severity="alarm",
            opened_at=at,
            machine=run.machine,
            text=f"Run {run.id} of {name} {what}{f': {run.message}' if run.message else ''}",
            is_kept=True,
            closes_when=ACKNOWLEDGED,
        )
