"""Leftovers: parked processes, processes that outlive their run, and runs that never started.

Containers of ended evals and logs without an end have findings of their own.
"""

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fleet import Fleet
from core.format import size
from core.judge.sign import OVER, Kind, Scene, Sign, Signs, signs
from core.judge.words import last_step, short_time
from core.model.finding import Proposal, Severity
from core.model.process import Process, ProcessState
from core.model.run import Run, RunState
from core.text import shown

_PARKED = JudgeRule(
    kind="leftovers", name="parked", default=3_600, unit="seconds",
    help="A process that stays parked for longer is a notice; suspect if it holds a GPU.",
)  # fmt: skip
_UNSTARTED = JudgeRule(
    kind="leftovers", name="unstarted", default=7_200, unit="seconds",
    help="A run that has not started after that time is a notice: its folder may be left over.",
)  # fmt: skip
_UNSTARTED_STATES = frozenset({RunState.PREPARING, RunState.STARTING})
_MAX_WORDS = 200
_RELEASE = Proposal(action="release", scope="process")


def _of_process(scene: Scene, process: Process) -> Signs | None:
    if process.is_gone:
        return OVER
    if not scene.fleet.is_up(process.key.machine):
        return None
    lasted = scene.at - process.since
    least = scene.rules.number(_PARKED)
    if process.state is not ProcessState.PARKED or lasted < least:
        return signs(scene.at)
    held = _gpu_memory(scene.fleet, process)
    severity: Severity = "suspect" if held else "notice"
    holds = f", and it holds {size(held)} of GPU memory" if held else ""
    sign = Sign(
        severity=severity,
        reading=scene.at,
        text=sentences(
            f"Process {process.key.pid} has been parked for over"
            f" {short_time(last_step(lasted, max(60.0, least)))}{holds}",
            "Release it once nobody needs it",
        ),
        since=process.since,
        cause="its evals are over, and it is kept alive",
        proposals=(_RELEASE,),
        closes_when="the process runs an eval again, or ends",
        machine=process.key.machine,
        process=process.key,
    )
    return signs(scene.at, [sign])


def _gpu_memory(fleet: Fleet, process: Process) -> int:
    """Return the bytes of GPU memory that a process and those that it started hold."""
    machine = fleet.machines.get(process.key.machine)
    gpus = machine.facts.gpus if machine is not None and machine.facts is not None else ()
    return sum(
        each.memory or 0
        for gpu in gpus
        for each in gpu.pids
        if process.key.pid in {each.pid, each.started_by}
    )


def _of_fleet(scene: Scene) -> Signs:
    runs = (each for each in scene.fleet.runs.values() if scene.fleet.is_up(each.machine))
    return signs(scene.at, (sign for run in runs if (sign := _of_run(scene, run)) is not None))


def _of_run(scene: Scene, run: Run) -> Sign | None:
    severity: Severity = "suspect"
    advice, cause, closes_when = "", "", "they end"
    if run.is_over:
        if not run.leftover:
            return None
        text = "has ended, but not all of its processes have"
        cause = shown(run.leftover, _MAX_WORDS)
    else:
        lasted, least = scene.at - run.at, scene.rules.number(_UNSTARTED)
        if run.state not in _UNSTARTED_STATES or lasted < least:
            return None
        severity = "notice"
        text = f"has been {run.state} for over {short_time(last_step(lasted, max(60.0, least)))}"
        advice = "If the evalroom that launched it has ended, launch it again"
        cause, closes_when = "nobody starts it any more, or it waits", "it starts, or is over"
    return Sign(
        key=run.id,
        severity=severity,
        reading=scene.at,
        text=sentences(f"Run {shown(run.id, 60)} {text}", advice),
        cause=cause,
        closes_when=closes_when,
        machine=run.machine,
        run=run.id,
    )


KIND = Kind(
    name="leftovers",
    help="A process stays parked, processes outlive their run, or a run never starts.",
    numbers=(_PARKED, _UNSTARTED),
    of_process=_of_process,
    of_fleet=_of_fleet,
)
