"""Turns the survey of a machine into checks, for one run or for any run."""

from collections.abc import Collection, Iterator

from core.fleet import Fleet
from core.ids import MachineName
from core.launch.engines.registry import engines_by_program
from core.launch.plan.run_plan import RunPlan
from core.launch.preflight.check_text import error_of, listed, size
from core.launch.preflight.checks import Check, passed, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.docker_checks import docker_checks, docker_summary
from core.launch.preflight.env_and_network_checks import (
    engine_checks,
    network_checks,
    variable_checks,
)
from core.launch.preflight.filesystem_checks import (
    channel_checks,
    disk_checks,
    log_checks,
    memory_checks,
    run_checks,
)
from core.launch.preflight.gpu_checks import gpu_checks, gpus_of, tool_warning
from core.launch.preflight.gpu_reservations import available_gpus
from core.launch.preflight.inspect_checks import (
    features_missing,
    host_checks,
    inspect_checks,
    python_checks,
)
from core.launch.preflight.limit_checks import limit_checks
from core.launch.preflight.link_checks import link_checks
from core.launch.preflight.requirements import named_log_folder
from core.launch.preflight.survey_facts import SurveyFacts
from core.launch.preflight.task_checks import packages_checks, task_checks
from core.model.machine import ToolState


def assess_run(
    plan: RunPlan,
    facts: SurveyFacts,
    fleet: Fleet,
    *,
    secrets: Collection[str] = (),
    held: Collection[str] = (),
) -> tuple[Check, ...]:
    """Return the checks of one run, in the order to read them.

    Args:
        plan: The run's plan on the surveyed machine.
        facts: The survey.
        fleet: The other runs, and the probe's last readings.
        secrets: Names of the stored secrets.
        held: Names of the lock files of GPUs that earlier runs of the same launch get.
    """
    case = PreflightContext(plan=plan, facts=facts, fleet=fleet, secrets=secrets, held=held)
    return (
        *python_checks(case),
        *inspect_checks(case),
        *task_checks(case),
        *packages_checks(case),
        *docker_checks(case),
        *gpu_checks(case),
        *memory_checks(facts),
        *limit_checks(facts, plan.spec),
        *link_checks(facts),
        *disk_checks(facts, named_log_folder(plan)),
        *channel_checks(case),
        *run_checks(case),
        *log_checks(case),
        *variable_checks(case),
        *network_checks(case),
        *engine_checks(case),
    )


def assess_machine(facts: SurveyFacts, fleet: Fleet, machine: MachineName) -> tuple[Check, ...]:
    """Return the checks for any run; a missing program is only a note, as few runs need it.

    Args:
        facts: The survey.
        fleet: The probe's last readings.
        machine: The surveyed machine.
    """
    return (
        *host_checks(facts),
        *_inspect(facts),
        *_uv(facts),
        *_docker(facts),
        *_gpus(facts, fleet, machine),
        *_memory(facts),
        *limit_checks(facts),
        *link_checks(facts),
        *disk_checks(facts),
        *_engines(facts),
    )


def _inspect(facts: SurveyFacts) -> Iterator[Check]:
    interpreter = facts.inspect.value
    if interpreter is None:
        yield warning(
            "Inspect", f"the machine's Python did not answer: {error_of(facts.inspect.error)}"
        )
    elif interpreter.inspect is None:
        yield passed(
            "Inspect", "not installed for the machine's Python: uv installs it for each run"
        )
    elif interpreter.broken or not interpreter.imported:
        why = error_of(interpreter.broken or interpreter.error)
        yield warning("Inspect", f"Inspect {interpreter.inspect} can't be imported: {why}")
    else:
        cannot = features_missing(interpreter.inspect)
        text = f"Inspect {interpreter.inspect}"
        old = f"{text} is too old to {listed(cannot)}"
        yield warning("Inspect", old) if cannot else passed("Inspect", text)


def _uv(facts: SurveyFacts) -> Iterator[Check]:
    if facts.uv.value is not None:
        yield passed("uv", facts.uv.value.version or "uv is installed")
        return
    host = facts.host.value
    if host is not None and host.has_route is False:
        yield warning(
            "uv", "uv is not installed, and the machine has no network route to download it"
        )
    else:
        yield passed("uv", "evalroom installs uv into ~/.evalroom/bin when a run needs it")


def _docker(facts: SurveyFacts) -> Iterator[Check]:
    docker = facts.docker
    if docker.value is not None:
        yield passed("Docker", docker_summary(docker.value))
    elif docker.state is ToolState.ABSENT:
        yield passed("Docker", "not installed")
    else:
        yield warning("Docker", f"Docker is not usable: {error_of(docker.error)}")


def _gpus(facts: SurveyFacts, fleet: Fleet, machine: MachineName) -> Iterator[Check]:
    part = gpus_of(facts, fleet, machine)
    reserved = facts.reservations.value
    if part.value is not None:
        if part.error:
            yield tool_warning(part.error)
        held = () if reserved is None else reserved.held
        kinds = listed(list(dict.fromkeys(each.name for each in part.value if each.name)))
        of = f" ({kinds})" if kinds else ""
        yield passed(
            "GPUs", f"{len(available_gpus(part.value, held))} of {len(part.value)} are free{of}"
        )
    elif part.state is ToolState.ABSENT:
        yield passed("GPUs", "nvidia-smi is not installed")
    else:
        yield warning("GPUs", f"nvidia-smi is not usable: {error_of(part.error)}")


def _memory(facts: SurveyFacts) -> Iterator[Check]:
    short = tuple(memory_checks(facts))
    yield from short
    host = facts.host.value
    if host is not None and not short and host.memory.available is not None:
        cpus = f", {host.cpus} processors" if host.cpus else ""
        yield passed("memory", f"{size(host.memory.available)} free{cpus}")


def _engines(facts: SurveyFacts) -> Iterator[Check]:
    for program, names in engines_by_program().items():
        part = facts.programs.get(program)
        if part is not None and part.state is ToolState.OK:
            yield passed(program, part.value or f"{program} is installed")
        elif part is not None and part.state is ToolState.ABSENT:
            engines = " or ".join(f'engine = "{name}"' for name in names)
            yield passed(program, f"not installed, so {engines} is not usable")
