"""Retries: samples that errored and were run again, and how many of them passed."""

from core.config.judge import JudgeRule
from core.format import plural
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import key_of
from core.model.task import Task

_SHARE = JudgeRule(
    kind="retries", name="share", default=10, unit="percent", high=100,
    help="Part of a task's samples run again from which it is suspect.",
)  # fmt: skip
_TIMES = JudgeRule(
    kind="retries", name="times", default=3, unit="retries",
    help="Retries of one sample from which it is suspect.",
)  # fmt: skip


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.is_over:
        return OVER
    if not task.run_again or task.samples_heard_at is None:
        return signs(task.heard_at)
    times = [each for each, _ in task.run_again.values()]
    passed = sum(has_passed for _, has_passed in task.run_again.values())
    retries = plural(sum(times), "retry", "retries")
    text = f"{plural(len(times), 'sample was', 'samples were')} run again ({retries})"
    if passed:
        text += "; all of them passed" if passed == len(times) else f"; {passed} of them passed"
    many = len(times) >= scene.rules.number(_SHARE) / 100 * max(1, task.row.samples.total)
    sign = Sign(
        key=key_of(task.row.eval_id),
        severity="suspect" if many or max(times) >= scene.rules.number(_TIMES) else "notice",
        reading=task.samples_heard_at,
        text=text,
        closes_when="the task ends",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        model=task.row.model,
        count=sum(times),
    )
    return signs(task.samples_heard_at, [sign])


KIND = Kind(
    name="retries",
    help="Samples errored and were run again.",
    numbers=(_SHARE, _TIMES),
    readings=1,
    misses=1,
    by_samples=True,
    of_task=_signs,
)
