"""Money: what tasks have spent, and what they will have spent at the end, against a budget."""

from collections.abc import Iterator

from core.config.judge import JudgeRule
from core.errors import sentences
from core.judge.prices import Money, dollars, spent
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.model.finding import Proposal, Severity
from core.model.task import Task, TaskState
from core.text import shown

_TASK = JudgeRule(
    kind="money", name="task", default=0, unit="US dollars",
    help="The budget of one task; 0: none.",
)  # fmt: skip
_TOTAL = JudgeRule(
    kind="money", name="total", default=0, unit="US dollars",
    help="The budget of all tasks that evalroom lists together; 0: none.",
)  # fmt: skip
_EASES = 0.9


def _signs(scene: Scene) -> Signs | None:
    if not scene.rules.prices:
        return signs(scene.at)
    budget, total = scene.rules.number(_TASK), scene.rules.number(_TOTAL)
    if not budget and not total:
        return signs(scene.at)
    found: list[Sign] = []
    low = high = at_end = 0.0
    for task in scene.fleet.tasks.values():
        money = spent(task, scene.rules)
        if money is None:
            continue
        low, high = low + money.low, high + money.high
        at_end += money.low if money.low_at_end is None else money.low_at_end
        if budget and task.state is TaskState.RUNNING:
            found += _of_task(scene, task, money, budget)
    if total:
        found += _over(scene, "total", Money(low=low, high=high, low_at_end=at_end), total, None)
    return signs(scene.at, found)


def _of_task(scene: Scene, task: Task, money: Money, budget: float) -> Iterator[Sign]:
    process = task.key.process
    key = f"{process.machine}:{process.pid}:{process.start}:{task.key.task_id}"
    yield from _over(scene, key, money, budget, task)


def _over(scene: Scene, key: str, money: Money, budget: float, task: Task | None) -> Iterator[Sign]:
    at_end = money.low if money.low_at_end is None else money.low_at_end
    if max(money.low, at_end) < budget * (_EASES if key in scene.open else 1.0):
        return
    severity: Severity = "alarm" if money.low >= budget else "suspect"
    who = "The tasks that evalroom lists" if task is None else shown(task.row.task, 60)
    has = "have" if task is None else "has"
    if severity == "alarm":
        step = budget
        while step * 1.25 <= money.low:
            step *= 1.25
        what = f"{who} {has} spent {dollars(step)} or more, and the budget is {dollars(budget)}"
    else:
        what = (
            f"{who} will have spent more than the budget of {dollars(budget)} at the end, at this"
            f" pace: {dollars(budget * _quarter(money.low / budget))} or more are spent"
        )
    yield Sign(
        key=key,
        severity=severity,
        reading=scene.at if task is None else task.heard_at,
        text=sentences(what, "Pause what may wait, or drain the task"),
        proposals=() if task is None else (
            Proposal(action="pause", scope="task"), Proposal(action="drain", scope="task"),
        ),
        closes_when="the spending fits the budget",
        machine=None if task is None else task.key.machine,
        process=None if task is None else task.key.process,
        task=None if task is None else task.key,
        model="" if task is None else task.row.model,
    )  # fmt: skip


def _quarter(share: float) -> float:
    return int(share * 4) / 4


KIND = Kind(
    name="money",
    help="Tasks spend more than their budget, where the config gives their models a price.",
    numbers=(_TASK, _TOTAL),
    of_fleet=_signs,
)
