"""A stall: a sample does one thing for longer than such things take.

How long it has lasted is read on the eval's own clock, in the answer that shows it: what was not
read is not judged, and clocks that differ show nothing false.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fleet import Fleet
from core.fold.operations import operations_by_task, operations_of
from core.ids import SampleKey, TaskKey
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import last_step, short_time
from core.model.finding import Proposal, Severity
from core.model.operation import Operation
from core.model.process import Process, ProcessState
from core.model.sample import Sample, SampleId, SampleStatus
from core.model.task import Task, TaskState
from core.text import shown

Doing = Literal["generate", "thinking", "tool", "sandbox"]
"""What a sample does, as far as it may stall in it."""


def _rules(doing: Doing, suspect: float, alarm: float, what: str) -> tuple[JudgeRule, JudgeRule]:
    return (
        JudgeRule(
            kind="stall", name=f"{doing}.suspect", default=suspect, unit="seconds",
            help=f"{what} that lasts longer is suspect.",
        ),
        JudgeRule(
            kind="stall", name=f"{doing}.alarm", default=alarm, unit="seconds",
            help=f"{what} that lasts longer is an alarm.",
        ),
    )  # fmt: skip


_RULES: Mapping[Doing, tuple[JudgeRule, JudgeRule]] = {
    "generate": _rules("generate", 30, 120, "A plain generation"),
    "thinking": _rules("thinking", 120, 600, "A generation of a model that thinks first"),
    "tool": _rules("tool", 120, 600, "A call of a tool or of the network"),
    "sandbox": _rules("sandbox", 300, 1_200, "A command in a sandbox"),
}

ENOUGH_CALLS = 10
"""Finished calls that tell how long such calls usually take."""
SCALE = 1.5
"""A call is suspect when it lasts longer than the p95 of such calls by this factor."""
NOTED_FROM = 0.5
"""Part of the time to suspect from which a reading counts as one of those that must agree."""

_THINKS = re.compile(r"(^|[/:-])(o[134]|gpt-5|deepseek-r1|qwq)([.-]|$)|think|reason", re.IGNORECASE)
"""Names of models that think before they answer, without being told to."""
_THINKING_OPTIONS = ("--reasoning-effort", "--reasoning-tokens")
_NOT_JUDGED = frozenset(
    {ProcessState.STARVED, ProcessState.BUSY, ProcessState.HEADLESS, ProcessState.GONE}
)
_MAX_NAME_CHARACTERS = 60
_CANCEL_CALL = Proposal(action="cancel-call", scope="sample")
_END_AND_SCORE = Proposal(action="cancel-score", scope="sample")
_CANCEL = Proposal(action="cancel", scope="sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stillness:
    """What a sample has done without a break, and since when.

    Attributes:
        doing: What it does.
        name: Its name in words: `bash`, `docker exec`, `generating`. Untrusted.
        lasted: Seconds, at the time of the reading.
        is_call: Whether it is a tool call, which can be cancelled by itself.
    """

    doing: Doing
    name: str
    lasted: float
    is_call: bool = False


def stillnesses(
    fleet: Fleet, task: Task, operations: Mapping[SampleId, Operation] | None = None
) -> Iterator[tuple[SampleId, Stillness]]:
    """Yield what each running sample of a task does, and for how long.

    Held and waiting samples are left out, and those that wait for a retry or for a person.

    Args:
        fleet: All that is known.
        task: The task.
        operations: Its operations, as `operations_of` returns them; None: they are looked up.
    """
    process, as_of = fleet.processes.get(task.key.process), task.samples_as_of
    if process is None or as_of is None or not _may_stall(process, task):
        return
    if operations is None:
        operations = operations_of(fleet, task)
    clock = task.as_of
    for key, sample in task.samples.items():
        if sample.status == SampleStatus.RUNNING and sample.interrupt is None:
            still = _stillness(task, process, sample, operations.get(key), (as_of, clock))
            if still is not None:
                yield key, still


def limits_of(scene: Scene, task: Task, still: Stillness) -> tuple[float, float]:
    """Return from when such a stillness is suspect and an alarm, seconds.

    What such calls usually take in this task, and in others of its model, moves both.
    """
    suspect, alarm = (scene.rules.number(rule) for rule in _RULES[still.doing])
    if still.lasted < suspect * NOTED_FROM:
        return suspect, alarm
    usual = _usual(scene, task, still)
    factor = max(1.0, SCALE * usual / suspect) if suspect > 0 else 1.0
    return suspect * factor, alarm * factor


def _may_stall(process: Process, task: Task) -> bool:
    row = task.row
    is_held = row.paused_now or row.process_paused_now or process.paused_now
    return task.state is TaskState.RUNNING and not is_held and process.state not in _NOT_JUDGED


def _stillness(
    task: Task,
    process: Process,
    sample: Sample,
    operation: Operation | None,
    now: tuple[float, float],
) -> Stillness | None:
    as_of, clock = now
    activity = sample.activity
    if (
        operation is not None
        and operation.is_command
        and (activity is None or activity.type == "tool")
    ):
        name = f"{operation.what} {operation.words}".strip()
        lasted = max(0.0, clock - operation.since)
        is_call = activity is not None
        return Stillness(doing="sandbox", name=name, lasted=lasted, is_call=is_call)
    if activity is None:
        if sample.last_activity_at is None:
            return None
        doing: Doing = "sandbox" if task.has_sandboxes else "thinking"
        lasted = max(0.0, as_of - sample.last_activity_at)
        return Stillness(doing=doing, name="its last event", lasted=lasted)
    began = activity.started_at
    if activity.type not in {"model", "tool"} or began is None:
        return None
    lasted = max(0.0, as_of - began)
    if activity.type == "model":
        doing = "thinking" if _thinks(process, task) else "generate"
        return Stillness(doing=doing, name="generating", lasted=lasted)
    doing = "sandbox" if (sample.sample_id, sample.epoch) in task.sandboxed else "tool"
    return Stillness(doing=doing, name=activity.detail or "tool", lasted=lasted, is_call=True)


def _thinks(process: Process, task: Task) -> bool:
    is_told = any(word.startswith(_THINKING_OPTIONS) for word in process.argv)
    return is_told or _THINKS.search(task.row.model) is not None


def _operations(
    scene: Scene, process: Process | None
) -> Mapping[TaskKey, Mapping[SampleId, Operation]]:
    """Return what the samples of a process do, found once for all its tasks."""
    if process is None:
        return {}
    memo = ("stall: operations", process.key)
    if memo not in scene.memo:
        scene.memo[memo] = operations_by_task(scene.fleet, process)
    found: Mapping[TaskKey, Mapping[SampleId, Operation]] = scene.memo[memo]
    return found


def _usual(scene: Scene, task: Task, still: Stillness) -> float:
    """Return the p95 of finished calls like this one, seconds; 0: too few are known."""
    if still.doing in {"generate", "thinking"}:
        return _usual_of_models(scene).get(task.row.model, 0.0)
    return _p95(list(task.calls.get(call_key(still), ())))


def _usual_of_models(scene: Scene) -> Mapping[str, float]:
    """Return the p95 of each model's finished calls, found once for all tasks."""
    memo = "stall: calls of models"
    if memo not in scene.memo:
        took: dict[str, list[float]] = {}
        for each in scene.fleet.tasks.values():
            if calls := each.calls.get("model"):
                took.setdefault(each.row.model, []).extend(calls)
        scene.memo[memo] = {model: _p95(calls) for model, calls in took.items()}
    found: Mapping[str, float] = scene.memo[memo]
    return found


def _p95(took: list[float]) -> float:
    if len(took) < ENOUGH_CALLS:
        return 0.0
    took.sort()
    return took[min(len(took) - 1, int(0.95 * len(took)))]


def call_key(still: Stillness) -> str:
    """Return the key of such calls in `Task.calls`."""
    return "model" if still.doing in {"generate", "thinking"} else "tool"


def _signs(scene: Scene, task: Task) -> Signs | None:
    if task.state is not TaskState.RUNNING:
        return OVER
    if task.samples_as_of is None or not scene.fleet.is_up(task.key.machine):
        return None
    process = scene.fleet.processes.get(task.key.process)
    if process is not None and process.state in {ProcessState.STARVED, ProcessState.BUSY}:
        return None
    operations = _operations(scene, process).get(task.key, {})
    found = (
        sign
        for key, still in stillnesses(scene.fleet, task, operations)
        if (sign := _sign(scene, task, key, still)) is not None
    )
    return signs(task.samples_as_of, found)


def _sign(scene: Scene, task: Task, key: SampleId, still: Stillness) -> Sign | None:
    suspect, alarm = limits_of(scene, task, still)
    if still.lasted < suspect * NOTED_FROM:
        return None
    severity: Severity | None = "suspect" if still.lasted >= suspect else None
    if still.lasted >= alarm:
        severity = "alarm"
    sample = SampleKey(task.key, *key)
    began = round(scene.at - still.lasted)
    return Sign(
        key=f"{sample.sample_id}/{sample.epoch}:{call_key(still)}",
        severity=severity,
        reading=task.samples_as_of or 0.0,
        text=_text(still, suspect, alarm),
        since=began,
        proposals=proposals_for(still),
        closes_when="it does something else, or ends",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        sample=sample,
        model=task.row.model,
        covered_by=("outage",) if call_key(still) == "model" else (),
    )


def _text(still: Stillness, suspect: float, alarm: float) -> str:
    step = last_step(still.lasted, alarm if still.lasted >= alarm else suspect)
    name = shown(still.name, _MAX_NAME_CHARACTERS)
    what = f"{name} has run" if still.doing in {"tool", "sandbox"} else _WAITS[still.name]
    bounds = f"suspect from {short_time(suspect)}, alarm from {short_time(alarm)}"
    return sentences(f"{what} for over {short_time(step)} ({bounds})", _advice(still))


_WAITS = {"generating": "One generation has lasted", "its last event": "Nothing has happened"}


def _advice(still: Stillness) -> str:
    if still.is_call:
        return "Cancel the tool call, so that the sample goes on"
    if still.doing in {"generate", "thinking"}:
        return "See whether its model answers other samples, or end the sample"
    return "End what it waits for, or end the sample"


def proposals_for(still: Stillness) -> tuple[Proposal, ...]:
    """Return the actions that end such a stillness, the mildest first."""
    return (_CANCEL_CALL, _END_AND_SCORE) if still.is_call else (_END_AND_SCORE, _CANCEL)


KIND = Kind(
    name="stall",
    help="A sample does one thing for longer than such things take.",
    numbers=tuple(rule for pair in _RULES.values() for rule in pair),
    misses=1,
    of_task=_signs,
)
