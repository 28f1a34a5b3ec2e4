"""Builds the request for the survey of a machine, for all runs that may start there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from core.config.model import MachineConfig
from core.launch.engines.registry import engine_named, engines_by_program
from core.launch.engines.tmux_sessions import TMUX_COMMAND
from core.launch.plan.run_plan import RUNS_FOLDER, UV_PATH, RunPlan
from core.launch.plan.warnings import package_name
from core.launch.preflight import requirements
from core.launch.preflight.sandboxes import sandbox_file
from core.model.job import Job
from core.model.machine import MachineFacts, ToolState

TASK_TIMEOUT_S = 30.0
"""Timeout for the machine's Inspect to import a task, seconds."""
_MOST_TASKS = 100
_PLACES = ("~", RUNS_FOLDER)


def survey_job(
    plans: Sequence[RunPlan],
    machine: MachineConfig,
    known: MachineFacts | None = None,
    *,
    python: str | None = None,
) -> Job:
    """Return the survey job for these plans, or without plans for any run.

    Args:
        plans: Plans of one spec on this machine.
        machine: The machine.
        known: The probe's last reading: tools that hang are not started again.
        python: Without plans, the interpreter to ask for Inspect; None: the machine's.
    """
    given: dict[str, Any] = {
        "uv": UV_PATH,
        "seconds": TASK_TIMEOUT_S,
        "places": list(_PLACES),
        "programs": list(engines_by_program()),
        "reservations": list(requirements.lock_folders(machine.gpu_locks)),
        "interpreter": [python or machine.python],
        "skip": _stuck(known),
        "tmux": list(TMUX_COMMAND),
        "leave_child": machine.link == "command"
        and bool(machine.command)
        and not machine.read_only,
    }
    if plans:
        given.update(_asked(plans))
    return Job(program="survey", verb="survey", given=MappingProxyType(given))


def child_job(left: tuple[int, str]) -> Job:
    """Return the job that looks over a fresh link for the process that a survey left behind."""
    given = {"child": list(left)}
    return Job(program="survey", verb="child", given=MappingProxyType(given))


def _asked(plans: Sequence[RunPlan]) -> Mapping[str, Any]:
    first = plans[0]
    spec = first.spec
    folders = [requirements.named_log_folder(plan) for plan in plans]
    logs = list(dict.fromkeys(each for each in folders if each is not None))
    tasks = (requirements.task_asked(plan) for plan in plans)
    return {
        "interpreter": list(first.python_words),
        "directory": first.directory,
        "sandbox": sandbox_file(spec),
        "variables": dict(spec.env),
        "inherit": list(spec.inherit),
        "python_path": requirements.python_path_of(first),
        "tasks": list(dict.fromkeys(each for each in tasks if each is not None))[:_MOST_TASKS],
        "packages": _of_each(plans, _packages),
        "names": _of_each(plans, lambda plan: requirements.variables_read(plan.spec)),
        "models": _of_each(plans, lambda plan: requirements.weights_of(plan.spec)),
        "hosts": _of_each(plans, lambda plan: requirements.hosts_of(plan.spec)),
        "logs": logs,
        "runs": [plan.directory for plan in plans],
        "programs": _of_each(plans, _programs),
    }


def _packages(plan: RunPlan) -> Iterator[str]:
    return (package_name(package) for _, package in requirements.packages_of(plan.spec))


def _programs(plan: RunPlan) -> tuple[str, ...]:
    needed = engine_named(plan.spec.engine).needs
    return () if needed is None else (needed,)


def _of_each(plans: Sequence[RunPlan], read: Callable[[RunPlan], Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(each for plan in plans for each in read(plan)))


def _stuck(known: MachineFacts | None) -> list[str]:
    if known is None:
        return []
    found = {"gpus": known.gpu_state, "docker": known.docker.state}
    return [name for name, state in found.items() if state is ToolState.STUCK]
