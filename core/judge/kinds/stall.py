"""A stall: a sample does one thing for longer than such things take.

How long it has lasted is read on the eval's own clock, in the answer that shows it: what was not
read is not judged, and clocks that differ show nothing false.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fleet import Fleet
from core.fold.operations import operations_by_task, operations_of
from core.ids import SampleKey, TaskKey
from core.judge.sign import MAX_SIGNS, OVER, QUIET_S, Kind, Scene, Sign, Signs, noted, signs
from core.judge.sign_groups import told_together
from core.judge.usual_calls import p95
from core.judge.words import CANCEL_AND_SCORE, CANCEL_SAMPLE, last_step, short_time
from core.model.finding import Proposal, Severity
from core.model.operation import Operation
from core.model.process import Process, ProcessState
from core.model.sample import Sample, SampleId
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

SCALE = 1.5
"""A call is suspect when it lasts longer than the p95 of such calls by this factor."""
NOTED_FROM = 0.5
"""Part of the time to suspect from which a reading counts as one of those that must agree."""
NOTED_UNTIL = 0.75
"""Part of the time to suspect until which a first reading is wanted, though nothing changes."""
LONGEST_QUIET_S = 60.0
"""What does not change is looked at this often at least."""
TRACED_AFTER_S = 8.0
"""The trace shows what has lasted for so long."""
READ_IN_FULL_S = 180.0
"""All rows of a task have been read again within this time (`core.watch.polls`)."""
MAX_TRACED = 1_000
"""A trace shows so many operations of a process at most."""

_THINKS = re.compile(r"(^|[/:-])(o[134]|gpt-5|deepseek-r1|qwq)([.-]|$)|think|reason", re.IGNORECASE)
"""Names of models that think before they answer, without being told to."""
_THINKING_OPTIONS = ("--reasoning-effort", "--reasoning-tokens")
_NOT_JUDGED = frozenset(
    {ProcessState.STARVED, ProcessState.BUSY, ProcessState.HEADLESS, ProcessState.GONE}
)
_MAX_NAME_CHARACTERS = 60
_CANCEL_CALL = Proposal(action="cancel-call", scope="sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stillness:
    """What a sample has done without a break, and since when.

    Attributes:
        doing: What it does.
        name: Its name in words: `bash`, `docker exec`, `generating`. Untrusted.
        lasted: Seconds, at the time of the reading.
        began: When it began, Unix seconds on the eval's clock.
        is_call: Whether it is a tool call, which can be cancelled by itself.
    """

    doing: Doing
    name: str
    lasted: float
    began: float
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
    for sample in _running(task, operations):
        key = (sample.sample_id, sample.epoch)
        still = _stillness(task, process, sample, operations.get(key), (as_of, task.as_of))
        if still is not None:
            yield key, still


def _running(task: Task, operations: Mapping[SampleId, Operation]) -> list[Sample]:
    """Return the running samples that may stall.

    A sample that errored and waits for its next try has no row, so that its last one stays. If
    more rows run than the eval counts, the trace alone tells which of them do.
    """
    # Called for each changed answer: a sample's status is compared as a string.
    running = [
        each
        for each in task.samples.values()
        if each.status == "running" and each.interrupt is None
    ]
    if task.counts is None or len(running) <= task.counts.running:
        return running
    return [each for each in running if (each.sample_id, each.epoch) in operations]


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
        since, is_call = operation.since, activity is not None
        return Stillness(doing="sandbox", name=name, lasted=lasted, began=since, is_call=is_call)
    if activity is None:
        if operation is not None:
            return _by_trace(task, process, sample, operation)
        return _since_its_last_event(task, sample, as_of)
    began = activity.started_at
    if activity.type not in {"model", "tool"} or began is None:
        return None
    lasted = max(0.0, as_of - began)
    if activity.type == "model":
        is_over = operation is None and _is_over_by_trace(process, sample, lasted)
        return None if is_over else _generation(process, task, lasted, began)
    return Stillness(
        doing=_tool(task, sample),
        name=activity.detail or "tool",
        lasted=lasted,
        began=began,
        is_call=True,
    )


def _is_over_by_trace(process: Process, sample: Sample, lasted: float) -> bool:
    """Whether the trace lacks a generation that it would have: it waits for a retry.

    A delta leaves a row out whose only change is that such a wait began. The next full read has
    it, so that an old generation is believed although the trace may have been cut.
    """
    operations = process.operations
    if operations is None or len(operations) >= MAX_TRACED:
        return False
    key = (sample.sample_id, sample.epoch)
    is_known = TRACED_AFTER_S <= lasted < READ_IN_FULL_S
    return is_known and all(each.sample != key for each in operations)


def _since_its_last_event(task: Task, sample: Sample, as_of: float) -> Stillness | None:
    if sample.last_activity_at is None:
        return None
    doing: Doing = "sandbox" if task.has_sandboxes else "thinking"
    lasted = max(0.0, as_of - sample.last_activity_at)
    began = sample.last_activity_at
    return Stillness(doing=doing, name="its last event", lasted=lasted, began=began)


def _by_trace(task: Task, process: Process, sample: Sample, operation: Operation) -> Stillness:
    """Return what a sample does by its trace alone.

    A delta leaves a row out whose only change is that a call began.
    """
    lasted = max(0.0, task.as_of - operation.since)
    if operation.action == "Model":
        return _generation(process, task, lasted, operation.since)
    return Stillness(
        doing=_tool(task, sample),
        name=operation.words or "tool",
        lasted=lasted,
        began=operation.since,
        is_call=True,
    )


def _generation(process: Process, task: Task, lasted: float, began: float) -> Stillness:
    doing: Doing = "thinking" if _thinks(process, task) else "generate"
    return Stillness(doing=doing, name="generating", lasted=lasted, began=began)


def _tool(task: Task, sample: Sample) -> Doing:
    return "sandbox" if (sample.sample_id, sample.epoch) in task.sandboxed else "tool"


def _thinks(process: Process, task: Task) -> bool:
    return _thinks_by_name(process.argv, task.row.model)


@lru_cache(maxsize=2_048)
def _thinks_by_name(argv: tuple[str, ...], model: str) -> bool:
    is_told = any(word.startswith(_THINKING_OPTIONS) for word in argv)
    return is_told or _THINKS.search(model) is not None


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
    key = call_key(still)
    own = p95(task.calls.get(key, ()))
    return max(own, scene.fleet.usual_calls.get(task.row.model, 0.0)) if key == "model" else own


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
    as_of, quiet_for = task.samples_as_of, LONGEST_QUIET_S
    if process is None or not _may_stall(process, task):
        return signs(as_of)
    suspects = _suspects(scene, process, task)
    operations = _operations(scene, process).get(task.key, {})
    found: list[Sign] = []
    for sample in _running(task, operations):
        operation = operations.get((sample.sample_id, sample.epoch)) if operations else None
        activity = sample.activity
        began = sample.last_activity_at if activity is None else activity.started_at
        soon = suspects.get("" if activity is None else activity.type, 0.0)
        age = 0.0 if began is None else as_of - began
        if operation is None and age < soon * NOTED_FROM:
            quiet_for = min(quiet_for, soon * NOTED_UNTIL - age)
            continue
        still = _stillness(task, process, sample, operation, (as_of, task.as_of))
        if still is None:
            quiet_for = min(quiet_for, QUIET_S)
            continue
        suspect, alarm = limits_of(scene, task, still)
        quiet_for = min(quiet_for, _until_next(still.lasted, suspect, alarm))
        if still.lasted >= suspect * NOTED_FROM and len(found) < MAX_SIGNS:
            found.append(_sign(scene, task, sample, still, (suspect, alarm)))
    grouped = told_together(found, "do one thing for too long", scene.open)
    return signs(as_of, grouped, quiet_for)


def _suspects(scene: Scene, process: Process, task: Task) -> Mapping[str, float]:
    """Return the least time to suspect, seconds, by the type of an activity."""
    number = scene.rules.number
    generate, thinking = number(_RULES["generate"][0]), number(_RULES["thinking"][0])
    tool, sandbox = number(_RULES["tool"][0]), number(_RULES["sandbox"][0])
    return {
        "model": thinking if _thinks(process, task) else generate,
        "tool": min(tool, sandbox),
        "": min(thinking, sandbox),
    }


def _until_next(lasted: float, suspect: float, alarm: float) -> float:
    """Return the seconds until a stillness shows something else."""
    if lasted < suspect * NOTED_FROM:
        return suspect * NOTED_UNTIL - lasted
    bound = suspect if lasted < suspect else alarm
    return bound - lasted if lasted < bound else LONGEST_QUIET_S


def _sign(
    scene: Scene, task: Task, row: Sample, still: Stillness, bounds: tuple[float, float]
) -> Sign:
    suspect, alarm = bounds
    severity: Severity | None = "suspect" if still.lasted >= suspect else None
    if still.lasted >= alarm:
        severity = "alarm"
    began = round(scene.at - still.lasted)
    key = f"{row.sample_id}/{row.epoch}:{call_key(still)}"
    if severity is None and key not in scene.open:  # as almost all of them: it says nothing yet
        return noted(key, task.samples_as_of or 0.0, began, still.began, task.key.machine)
    return Sign(
        key=key,
        severity=severity,
        reading=task.samples_as_of or 0.0,
        text=_text(still, suspect, alarm),
        since=began,
        start=still.began,
        proposals=proposals_for(still),
        closes_when="it does something else, or ends",
        machine=task.key.machine,
        process=task.key.process,
        task=task.key,
        sample=SampleKey(task.key, row.sample_id, row.epoch),
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
        return "See whether its model answers other samples, or cancel the sample"
    return "End what it waits for, or cancel the sample"


def proposals_for(still: Stillness) -> tuple[Proposal, ...]:
    """Return the actions that end such a stillness, the mildest first."""
    if still.is_call:
        return (_CANCEL_CALL, CANCEL_AND_SCORE)
    return (CANCEL_AND_SCORE, CANCEL_SAMPLE)


KIND = Kind(
    name="stall",
    help="A sample does one thing for longer than such things take.",
    numbers=tuple(rule for pair in _RULES.values() for rule in pair),
    misses=1,
    by_samples=True,
    of_task=_signs,
)
