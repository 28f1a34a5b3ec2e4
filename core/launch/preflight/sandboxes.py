"""Whether the samples of a run use Docker containers, and how many at once."""

from collections.abc import Sequence
from typing import Any, cast

from core.launch.plan.eval_set_args import worst_case
from core.launch.preflight.survey_facts import TaskFacts
from core.launch.spec.spec import BUILT_IN_TASKS, Spec

DEFAULT_SANDBOX_BYTES = 1024**3
"""Assumed memory of the containers of one sample, if no compose file says otherwise: 1 GiB."""
SANDBOXES_PER_CPU = 2
"""Inspect's default for `max_sandboxes`, for each processor."""

_TASKS = (
    "agent_bench_os", "apps", "assistant_bench_web_browser", "bigcodebench", "class_eval",
    "compute_eval", "core_bench", "cti_realm_25", "cti_realm_50", "cybench", "cybergym",
    "cyse2_interpreter_abuse", "cyse2_vulnerability_exploit", "ds1000", "frontier_cs",
    "frontier_cs_algorithmic", "frontier_cs_research", "gaia", "gaia_level1", "gaia_level2",
    "gaia_level3", "gdm_in_house_ctf", "gdm_intercode_ctf", "gdpval", "humaneval", "ifevalcode",
    "ipi_coding_agent", "kernelbench", "livecodebench_pro", "mbpp", "mind2web_sc", "mle_bench",
    "mle_bench_full", "mle_bench_lite", "mlrc_bench", "osworld", "osworld_small", "paperbench",
    "scbench", "scicode", "swe_bench", "swe_bench_verified_mini", "swe_lancer", "threecb",
    "usaco", "vimgolf_single_turn",
)  # fmt: skip
"""Tasks of inspect_evals whose samples use containers."""
_PREFIXES = ("gdm_self_reasoning_", "gdm_sp", "gdm_stealth_")


def needs_docker(spec: Spec, task: TaskFacts | None) -> bool:
    """Whether the samples of a run use Docker containers.

    The sandbox in the spec counts first, then what is known about the task, then the sandbox in
    the task's code. If the spec has another argument for the sandbox, nothing is guessed.

    Args:
        spec: The spec of the run.
        task: The answer of the machine's Inspect about the task; None: no answer.
    """
    named = _named(spec)
    if named is not None or spec.task[0] in BUILT_IN_TASKS:
        return named == "docker"
    return _is_known(spec.task[0]) or (task is not None and task.sandbox == "docker")


def _named(spec: Spec) -> str | None:
    """Return the sandbox that the spec names; None: it names none."""
    arguments = [value for name, value in spec.args.items() if "sandbox" in name]
    for value in (spec.options.get("sandbox"), *arguments):
        first: Any = value
        if isinstance(value, list | tuple) and value:
            first = cast("Sequence[Any]", value)[0]
        if isinstance(first, str) and first:
            return first.partition(":")[0]
    return "" if arguments else None


def sandbox_file(spec: Spec) -> str | None:
    """Return the file for Docker that the spec names, as in `docker:compose.yaml`, or None."""
    arguments = [value for name, value in spec.args.items() if "sandbox" in name]
    for value in (spec.options.get("sandbox"), *arguments):
        if isinstance(value, str) and value.startswith("docker:"):
            return value.partition(":")[2]
        if isinstance(value, list | tuple):
            match list(cast("Sequence[Any]", value)):
                case ["docker", str() as file, *_]:
                    return file
                case _:
                    continue
    return None


def _is_known(task: str) -> bool:
    package, _, name = task.partition("/")
    return package == "inspect_evals" and (name in _TASKS or name.startswith(_PREFIXES))


def concurrent_sandboxes(spec: Spec, cpus: int | None) -> int | None:
    """Return how many samples use containers at the same time; None: unknown.

    Args:
        spec: The spec of the run.
        cpus: Processors of the machine; None: unknown.
    """
    usual = None if cpus is None else SANDBOXES_PER_CPU * cpus
    known = (spec.max_sandboxes or usual, spec.max_samples, worst_case(spec).samples)
    return min((each for each in known if each is not None), default=None)
