"""Facts of a machine where all is well, and what changes them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from core.config.model import MachineConfig
from core.fleet import Fleet
from core.launch.plan.run_plan import RUNS_FOLDER, RunPlan
from core.launch.preflight.assessment import assess_run
from core.launch.preflight.checks import Check, CheckLevel
from core.launch.preflight.machine_choice import SURVEY_TIMEOUT_S, survey_machine
from core.launch.preflight.survey_facts import (
    CacheFacts,
    DockerFacts,
    FolderFacts,
    HostFacts,
    InspectFacts,
    ReservationFacts,
    SurveyFacts,
    SurveyPart,
    TaskFacts,
    UvFacts,
)
from core.launch.spec.spec import Spec
from core.model.job import Worker
from core.model.machine import Gpu, Memory, ToolState
from tests.support.specs import plan, spec

T = TypeVar("T")
GIB = 1024**3
PYTHON = "/v/bin/python"
GIVEN = f'python = "{PYTHON}"\n'
"""What has a run's interpreter be given: uv gets nothing then."""


def of(task: str, model: str = "mockllm/model") -> str:
    """The text of a spec of this task and model."""
    return f'task = "{task}"\nmodel = "{model}"\nmachine = "local"\non_error = "stop"\n'


def found(value: T) -> SurveyPart[T]:
    """A part that could be read."""
    return SurveyPart(state=ToolState.OK, value=value)


def failed(state: ToolState, error: str = "") -> SurveyPart[Any]:
    """A part that could not."""
    return SurveyPart(state=state, error=error)


def with_task_facts(facts: SurveyFacts, task: str, known: TaskFacts) -> SurveyFacts:
    """The same machine, whose Inspect says this of a task."""
    assert facts.inspect.value is not None
    return replace(facts, inspect=found(replace(facts.inspect.value, tasks={task: known})))


def with_inspect(facts: SurveyFacts, **changes: Any) -> SurveyFacts:
    """The same machine, whose interpreter says this of itself."""
    assert facts.inspect.value is not None
    return replace(facts, inspect=found(replace(facts.inspect.value, **changes)))


def folder(**changes: Any) -> FolderFacts:
    """A folder on a disk with much room."""
    usual: dict[str, Any] = {"full": "/x", "near": "/x", "exists": True, "disk": 1}
    usual |= {"total": 900 * GIB, "free": 500 * GIB, **changes}
    return FolderFacts(**usual)


def gpus(count: int) -> tuple[Gpu, ...]:
    """So many free GPUs."""
    return tuple(Gpu(index=i, uuid=f"GPU-{i}", name="NVIDIA H100") for i in range(count))


WELL = SurveyFacts(
    host=found(
        HostFacts(
            python="3.11.4",
            platform="Linux 6.1 x86_64",
            host="gpu-07",
            user="alice",
            home="/home/alice",
            cpus=8,
            load=(1.0, 1.0, 1.0),
            memory=Memory(total=64 * GIB, available=32 * GIB),
            has_route=True,
        )
    ),
    inspect=found(InspectFacts(inspect="0.3.285", imported=True)),
    uv=found(UvFacts(version="uv 0.9.1")),
    docker=found(DockerFacts(version="27.1.1", compose="2.29.1", running=0, used=0)),
    gpus=found(gpus(8)),
    reservations=found(ReservationFacts(folder="/var/lock/evalroom")),
    running=found(()),
    caches=found(CacheFacts(hub="/home/alice/hub", tokenizer=True)),
    variables=found(()),
    places={"~": found(folder()), RUNS_FOLDER: found(folder())},
    programs={"tmux": found("tmux 3.4")},
    hosts={"huggingface.co:443": found("direct")},
)
"""A machine where all is well."""


def judged(
    spec: Spec, facts: SurveyFacts = WELL, fleet: Fleet | None = None, **how: Any
) -> tuple[Check, ...]:
    """What the preflight of a spec says of a machine."""
    return assess_run(plan(spec), facts, Fleet() if fleet is None else fleet, **how)


def texts(checks: Sequence[Check], *levels: CheckLevel) -> list[str]:
    """Checks of these levels (none: all that are not ok) as texts: `STOP docker: ...; advice`."""
    wanted = levels or (CheckLevel.WARNING, CheckLevel.STOP)
    return [
        f"{each.level} {each.name}: {each.message}; {each.advice}"
        for each in checks
        if each.level in wanted
    ]


OWN = "/evals/t.py@mine"
"""A task of one's own."""
OWN_SPEC = of(OWN)


def mine(more: str = "") -> Spec:
    """The spec of that task, run by an interpreter that is given."""
    return spec(GIVEN + more, text=OWN_SPEC)


def with_task(**more: Any) -> SurveyFacts:
    """A machine where all is well, whose Inspect says this of that task."""
    row: dict[str, Any] = {"state": "ok", **more}
    return with_task_facts(WELL, OWN, TaskFacts(**row))


async def preflight(
    worker: Worker,
    plan: RunPlan,
    machine: MachineConfig,
    fleet: Fleet,
    *,
    secrets: Collection[str],
    deadline: float = SURVEY_TIMEOUT_S,
) -> tuple[Check, ...]:
    """Survey the machine of one plan and return its checks."""
    surveyed = await survey_machine(worker, (plan,), machine, fleet, deadline=deadline)
    if isinstance(surveyed, Check):
        return (surveyed,)
    return assess_run(plan, surveyed, fleet, secrets=secrets)
