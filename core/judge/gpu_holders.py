"""Which evals hold a GPU: by their own processes, and by those that they started."""

from typing import cast

from core.fold.sandboxes import processes_of
from core.ids import ProcessKey
from core.judge.sign import Scene
from core.model.machine import Gpu, GpuProcess, Machine
from core.model.process import Process


def evals_on_gpus(scene: Scene, machine: Machine) -> dict[int, Process]:
    """Return the evals of a machine that have not ended, by pid, if its GPUs are in use."""
    if machine.facts is None or not any(gpu.pids for gpu in machine.facts.gpus):
        return {}
    place = ("evals on GPUs", machine.name)
    if place not in scene.memo:
        processes = processes_of(scene.fleet, machine.name)
        scene.memo[place] = {each.key.pid: each for each in processes if not each.is_gone}
    return cast("dict[int, Process]", scene.memo[place])


def holders_of(gpu: Gpu, evals: dict[int, Process]) -> tuple[Process, ...]:
    """Return the evals that hold memory on a GPU."""
    found: dict[ProcessKey, Process] = {}
    for each in gpu.pids:
        process = evals.get(each.pid) or evals.get(each.started_by or 0)
        if process is not None:
            found[process.key] = process
    return tuple(found.values())


def strangers_on(gpu: Gpu, evals: dict[int, Process]) -> tuple[GpuProcess, ...]:
    """Return the processes on a GPU that belong to no eval that is known to live."""
    return tuple(
        each for each in gpu.pids if each.pid not in evals and (each.started_by or 0) not in evals
    )
