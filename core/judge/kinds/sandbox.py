"""Sandbox trouble, by what Docker said: no networks left, an image that is missing, a full disk.

What Docker said is in the causes of errors: of running tasks as far as they were read, and in the
logs of ended ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator

from core.config.judge import JudgeRule
from core.errors import sentences
from core.format import plural
from core.ids import MachineName
from core.judge.docker_words import TROUBLES, trouble_in
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.judge.words import short_time
from core.model.task import Task
from core.text import shown

_LASTS = JudgeRule(
    kind="sandbox", name="lasts", default=3_600, unit="seconds",
    help="For how long trouble with sandboxes is a finding after the last task that met it ended.",
)  # fmt: skip
_MAX_CAUSE = 160


def _signs(scene: Scene) -> Signs:
    oldest = scene.at - scene.rules.number(_LASTS)
    met: dict[tuple[MachineName, str], list[tuple[Task, str, int]]] = defaultdict(list)
    for task in scene.fleet.tasks.values():
        if task.ended_at is not None and task.ended_at < oldest:
            continue
        for cause, number in _causes(task):
            name = trouble_in(cause)
            if name:
                met[task.key.machine, name].append((task, cause, number))
    found = [_sign(scene, machine, name, of) for (machine, name), of in met.items()]
    return signs(scene.at, found)


def _causes(task: Task) -> Iterator[tuple[str, int]]:
    """Yield the causes of a task's own error and of those of its samples, with their numbers."""
    if task.header is not None and task.header.cause:
        yield task.header.cause, 0
    yield from ((group.cause, group.count) for group in task.errors)


def _sign(scene: Scene, machine: MachineName, name: str, of: list[tuple[Task, str, int]]) -> Sign:
    trouble = next(each for each in TROUBLES if each.name == name)
    number = sum(each for _, _, each in of)
    tasks = {task.key: task for task, _, _ in of}
    samples = f"{plural(number, 'sample')} of " if number else ""
    said = Counter(cause for _, cause, _ in of).most_common(1)[0][0]
    return Sign(
        key=f"{machine}:{name}",
        severity="suspect",
        reading=max(
            task.ended_at or task.causes.heard_at or task.heard_at for task in tasks.values()
        ),
        text=sentences(
            f"{samples}{plural(len(tasks), 'task')} errored because {trouble.what}", trouble.advice
        ),
        cause=f"Docker said: {shown(said, _MAX_CAUSE)}",
        closes_when=f"the last task that met it ended {short_time(scene.rules.number(_LASTS))} ago",
        machine=machine,
        task=next(iter(tasks)) if len(tasks) == 1 else None,
        count=max(1, number),
    )


KIND = Kind(
    name="sandbox",
    help="Samples errored because of Docker: no networks left, an image that is missing.",
    numbers=(_LASTS,),
    readings=1,
    misses=1,
    of_fleet=_signs,
)
