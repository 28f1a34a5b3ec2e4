"""A GPU that an eval holds and does not use."""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fleet import Fleet
from core.fold.trails import gpu_key
from core.format import duration_in_words
from core.judge.gpu_holders import evals_on_gpus, holders_of
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.model.finding import Severity
from core.model.machine import Machine
from core.model.process import Process
from core.model.sample import SampleStatus
from core.model.task import Task, TaskState

_SUSPECT = JudgeRule(
    kind="gpu-idle", name="suspect", default=600, unit="seconds",
    help="A GPU that an eval holds and that is idle for longer is suspect.",
)  # fmt: skip
_ALARM = JudgeRule(
    kind="gpu-idle", name="alarm", default=3_600, unit="seconds",
    help="A GPU that an eval holds and that is idle for longer is an alarm.",
)  # fmt: skip
_WAITS = frozenset({"retry_wait", "approval", "question"})


def _signs(scene: Scene, machine: Machine) -> Signs | None:
    facts = machine.facts
    if facts is None or not machine.link.is_alive:
        return None
    evals = evals_on_gpus(scene, machine)
    suspect, alarm = scene.rules.number(_SUSPECT), scene.rules.number(_ALARM)
    found: list[Sign] = []
    for gpu in facts.gpus if evals else ():
        since = machine.trail.idle_since.get(gpu_key(gpu))
        lasted = 0.0 if since is None else facts.at - since
        if since is None or lasted < suspect:
            continue
        holders = holders_of(gpu, evals)
        if not holders or not all(_should_use_it(scene.fleet, each) for each in holders):
            continue
        severity: Severity = "alarm" if lasted >= alarm else "suspect"
        found.append(
            Sign(
                key=gpu_key(gpu),
                severity=severity,
                reading=facts.at,
                text=_text(gpu.index, holders, alarm if severity == "alarm" else suspect),
                since=round(scene.at - lasted),
                closes_when="the GPU computes again, or its eval frees it",
                machine=machine.name,
                process=holders[0].key,
            )
        )
    return signs(facts.at, found)


def _text(index: int, holders: tuple[Process, ...], lasted: float) -> str:
    who = ", ".join(str(each.key.pid) for each in holders[:3])
    whose = f"process {who} holds it, and its samples run" if len(holders) == 1 else (
        f"processes {who} hold it, and their samples run"
    )  # fmt: skip
    return sentences(
        f"GPU {index} has been idle for over {duration_in_words(lasted).removesuffix(' 00s')}:"
        f" {whose}",
        "See what its samples do; a model that hangs, or calls elsewhere, leaves its GPU idle",
    )


def _should_use_it(fleet: Fleet, process: Process) -> bool:
    """Whether a sample of an eval runs that is not held and does not wait.

    An eval that starts, is paused, runs only tools, or waits for its model is left alone: other
    kinds of findings tell of those.
    """
    if process.is_over or process.paused or process.paused_now:
        return False
    return any(_generates(task) for key in process.tasks if (task := fleet.tasks.get(key)))


def _generates(task: Task) -> bool:
    if task.state is not TaskState.RUNNING or task.row.paused or task.row.paused_now:
        return False
    if not task.progress.ended and not (task.row.total_tokens or 0):
        return False  # it spins up: its model may still be loading
    running = [each for each in task.samples.values() if each.status == SampleStatus.RUNNING]
    waits = [each for each in running if each.activity and each.activity.type in _WAITS]
    return bool(running) and len(waits) < len(running)


KIND = Kind(
    name="gpu-idle",
    help="A GPU is idle while the samples of the eval that holds it run.",
    numbers=(_SUSPECT, _ALARM),
    of_machine=_signs,
)
