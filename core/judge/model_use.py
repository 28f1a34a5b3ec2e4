"""How the samples of all tasks use each model now: how many calls answer, wait or hang."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from core.config.judge import JudgeRule
from core.fleet import Fleet
from core.ids import MachineName, ProcessKey, TaskKey
from core.judge.sign import Scene
from core.model.sample import Activity
from core.model.task import Task, TaskState

ENOUGH_CALLS = 10
"""Finished calls that tell how long the calls of a task take."""
SCALE = 1.5
"""A call hangs once it lasts longer than the p95 of its task's calls by this factor."""
MAX_NAMED = 3
SILENT = JudgeRule(
    kind="outage", name="silent", default=300, unit="seconds",
    help="A call that has no answer for longer hangs, unless such calls take longer in its task.",
)  # fmt: skip
_CALLS = frozenset({"model", "retry_wait"})
MAX_MODELS = 200
"""Models of one look; the names come from machines, so they are bounded."""


@dataclass(slots=True)
class ModelUse:
    """The calls to one model over all machines, in their newest readings.

    Attributes:
        calls: Samples that call it, or wait to call it again.
        waiting: Those of them that wait for a retry.
        silent: Those whose call has lasted far longer than such calls take.
        reading: When the task that was read longest ago was read, Unix seconds at the desk.
        tasks, processes, machines: Those with samples that wait or hang.
    """

    calls: int = 0
    waiting: int = 0
    silent: int = 0
    reading: float = 0.0
    tasks: dict[TaskKey, None] = field(default_factory=dict[TaskKey, None])
    processes: dict[ProcessKey, None] = field(default_factory=dict[ProcessKey, None])
    machines: dict[MachineName, None] = field(default_factory=dict[MachineName, None])

    @property
    def affected(self) -> int:
        """Samples that wait or hang."""
        return self.waiting + self.silent

    def add(self, task: Task, waiting: int, silent: int, calls: int) -> None:
        """Add what the samples of a task do."""
        self.calls += calls
        self.waiting += waiting
        self.silent += silent
        heard_at = task.samples_heard_at or 0.0
        self.reading = min(self.reading, heard_at) if self.reading else heard_at
        if waiting or silent:
            process = task.key.process
            self.tasks[task.key] = self.processes[process] = self.machines[process.machine] = None


def model_uses(fleet: Fleet, silent_after: float) -> Mapping[str, ModelUse]:
    """Return how each model is used, by its name.

    Tasks that are paused or that can't be read now are left out: what they do is not known.

    Args:
        fleet: All that is known.
        silent_after: Seconds after which a call without an answer hangs, at least.
    """
    uses: dict[str, ModelUse] = {}
    up = {name for name, machine in fleet.machines.items() if machine.link.is_up}
    for key, task in fleet.tasks.items():
        if task.state is not TaskState.RUNNING or task.samples_as_of is None:
            continue
        if key.machine not in up or task.row.paused_now or fleet.is_gone(key.process):
            continue
        for model, (waiting, silent, calls) in _of_task(task, silent_after).items():
            if model not in uses and len(uses) >= MAX_MODELS:
                continue
            uses.setdefault(model, ModelUse()).add(task, waiting, silent, calls)
    return uses


def uses_now(scene: Scene) -> Mapping[str, ModelUse]:
    """Return how each model is used now; it is counted once for an event."""
    key = "model uses"
    if key not in scene.memo:
        scene.memo[key] = model_uses(scene.fleet, scene.rules.number(SILENT))
    return cast("Mapping[str, ModelUse]", scene.memo[key])


def _of_task(task: Task, silent_after: float) -> dict[str, tuple[int, int, int]]:
    found: dict[str, tuple[int, int, int]] = {}
    as_of, after = task.samples_as_of or 0.0, 0.0
    for sample in task.samples.values():
        activity = sample.activity
        if activity is None or activity.type not in _CALLS:
            continue
        waits = activity.type == "retry_wait"
        hangs = False
        if not waits and activity.started_at and as_of - activity.started_at > silent_after:
            after = after or max(silent_after, _usual(task))
            hangs = as_of - activity.started_at > after
        model = _model_of(task, activity)
        waiting, silent, calls = found.get(model, (0, 0, 0))
        found[model] = waiting + waits, silent + hangs, calls + 1
    return found


def _usual(task: Task) -> float:
    took = sorted(task.calls.get("model", ()))
    return SCALE * took[int(0.95 * (len(took) - 1))] if len(took) >= ENOUGH_CALLS else 0.0


def _model_of(task: Task, activity: Activity) -> str:
    """Return the full name of the model that a sample calls; a wait has only its last part."""
    own, called = task.row.model, activity.detail
    if not called or called == own or own.endswith(f"/{called}"):
        return own
    return called[:200]


def provider_of(model: str) -> str:
    """Return the provider in the name of a model; empty: it names none."""
    return model.partition("/")[0] if "/" in model else ""


LOCAL_PROVIDERS = frozenset(
    {
        "hf", "vllm", "sglang", "ollama", "llama-cpp-python", "transformer_lens", "nnterp",
        "mockllm", "none",
    }
)  # fmt: skip
"""Providers whose models run on the machine: machines share no key of theirs."""


def machines_in_words(names: Iterable[MachineName]) -> str:
    """Return the names of machines for a sentence."""
    known = list(names)
    more = len(known) - MAX_NAMED
    return ", ".join(known[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
