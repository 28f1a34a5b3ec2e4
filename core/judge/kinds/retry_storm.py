"""A retry storm: samples look busy, but wait for retries of their model calls most of the time.

Several tasks of one model that all wait are one finding about the model.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fold.motion import retries_in_waits, time_in_waits
from core.format import plural
from core.judge.sign import Kind, Scene, Sign, Signs
from core.judge.told_already import is_told
from core.judge.words import key_of, last_step, name_of, short_time
from core.model.finding import SEVERITIES, Proposal, Severity
from core.model.task import Task, TaskState

_WINDOW = JudgeRule(
    kind="retry-storm", name="window", default=300, unit="seconds", low=1, high=600,
    help="The time over which the waits for retries are counted.",
)  # fmt: skip
_SUSPECT = JudgeRule(
    kind="retry-storm", name="share.suspect", default=50, unit="percent", high=100,
    help="Part of that time in waits from which it is suspect.",
)  # fmt: skip
_ALARM = JudgeRule(
    kind="retry-storm", name="share.alarm", default=90, unit="percent", high=100,
    help="Part of that time in waits from which it is an alarm.",
)  # fmt: skip
_RETRIES = JudgeRule(
    kind="retry-storm", name="retries", default=10, unit="retries",
    help="How many retries there must be.",
)  # fmt: skip

LASTS_FROM = 0.5
"""Part of the share to suspect above which an open finding stays open."""
_PAUSE = Proposal(action="pause", scope="task")
_CONFIG = Proposal(action="config", scope="task")


@dataclass(frozen=True, slots=True)
class _Storm:
    """A task whose samples wait for retries.

    Attributes:
        task: The task.
        share: Part of the time of its samples in waits, 0 to 1.
        retries: Retries in that time.
        severity: How bad it is; None: not bad yet.
        reading: When the reading came, Unix seconds at the desk.
    """

    task: Task
    share: float
    retries: int
    severity: Severity | None
    reading: float


def _signs(scene: Scene) -> Signs:
    storms: dict[str, list[_Storm]] = {}
    others: Counter[str] = Counter()
    for task in scene.fleet.tasks.values():
        storm = _storm(scene, task) if task.waits else None
        if storm is not None:
            storms.setdefault(task.row.model, []).append(storm)
        elif task.state is TaskState.RUNNING and task.row.samples.in_flight:
            others[task.row.model] += 1
    found: list[Sign] = []
    for model, of_model in storms.items():
        is_whole = not others[model] or _model_key(model) in scene.open
        if len(of_model) > 1 and is_whole:
            found.append(_of_model(scene, model, of_model))
        else:
            found.extend(_of_task(scene, each) for each in of_model)
    return Signs(reading=scene.at, found=tuple(found))


def _storm(scene: Scene, task: Task) -> _Storm | None:
    """Return the storm of a task; None: it has none. An open one of a lost link is kept."""
    row, heard = task.row, task.samples_heard_at
    if task.state is not TaskState.RUNNING or row.paused_now or row.process_paused_now:
        return None
    window = scene.rules.number(_WINDOW)
    share = time_in_waits(task.waits, window)
    suspect = scene.rules.number(_SUSPECT) / 100
    retries = retries_in_waits(task.waits, window)
    if heard is None or share < suspect * LASTS_FROM:
        return None
    is_open = not scene.open.isdisjoint(_keys(task))
    if not is_open and not scene.fleet.is_up(task.key.machine):
        return None
    if is_told(scene.fleet, "timeout", task):
        return None  # that one says why its calls are retried
    severity: Severity | None = None
    if (share >= suspect and retries >= scene.rules.number(_RETRIES)) or is_open:
        severity = "alarm" if share >= scene.rules.number(_ALARM) / 100 else "suspect"
    return _Storm(task, share, retries, severity, heard)


def _keys(task: Task) -> Iterator[str]:
    yield _key(task)
    yield _model_key(task.row.model)


def _key(task: Task) -> str:
    process = task.key.process
    return f"task:{process.machine}:{process.pid}:{process.start}:{task.key.task_id}"


def _model_key(model: str) -> str:
    return f"model:{key_of(model)}"


def _of_task(scene: Scene, storm: _Storm) -> Sign:
    task = storm.task
    what = f"Samples of {name_of(task.row.task)} spend {_part(storm.share)} of their time"
    return Sign(
        key=_key(task),
        severity=storm.severity,
        reading=storm.reading,
        text=_text(scene, what, storm.retries),
        cause=_cause(task.row.model),
        proposals=(_CONFIG, _PAUSE),
        closes_when=_closes(scene),
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        model=task.row.model,
        count=task.waits[-1].waiting,
        covered_by=("outage",),
    )


def _of_model(scene: Scene, model: str, storms: list[_Storm]) -> Sign:
    worst = max(storms, key=lambda each: (each.share, each.retries))
    machines = {each.task.key.machine for each in storms}
    where = f"{len(storms)} tasks"
    if len(machines) > 1:
        where += f" on {len(machines)} machines"
    place = f"{name_of(worst.task.row.task)} on {worst.task.key.machine}"
    what = (
        f"All {where} that use {name_of(model)} wait; the worst, {place}, spends"
        f" {_part(worst.share)} of its time"
    )
    severities: list[Severity] = [each.severity for each in storms if each.severity is not None]
    severity = max(severities, key=SEVERITIES.index) if severities else None
    return Sign(
        key=_model_key(model),
        severity=severity,
        reading=max(each.reading for each in storms),
        text=_text(scene, what, sum(each.retries for each in storms)),
        cause=_cause(model),
        closes_when=_closes(scene),
        machine=next(iter(machines)) if len(machines) == 1 else None,
        model=model,
        covered_by=("outage",),
        count=sum(each.task.waits[-1].waiting for each in storms),
    )


def _text(scene: Scene, what: str, retries: int) -> str:
    window = short_time(scene.rules.number(_WINDOW))
    at_least = round(last_step(retries, min(10, max(1, retries))))
    return sentences(
        f"{what} in waits for retries ({plural(at_least, 'retry', 'retries')} or more in {window})",
        "See whether the provider is down or limits the key; fewer connections ease a limit",
    )


def _part(share: float) -> str:
    return f"over {max(1, min(9, int(share * 10))) * 10}%"


def _cause(model: str) -> str:
    return f"{name_of(model)} refuses or does not answer most calls"


def _closes(scene: Scene) -> str:
    lower = scene.rules.number(_SUSPECT) * LASTS_FROM
    return f"waits for retries take less than {lower:.0f}% of the time"


KIND = Kind(
    name="retry-storm",
    help="Samples spend most of their time in waits for retries of their model calls.",
    numbers=(_WINDOW, _SUSPECT, _ALARM, _RETRIES),
    of_fleet=_signs,
)
