"""A rate limit: processes that share a model's key ask for more than it allows."""

from dataclasses import dataclass

from core.config.judge import JudgeRule
from core.errors import sentences
from core.fleet import Fleet
from core.format import plural
from core.ids import MachineName, ProcessKey
from core.judge.model_use import (
    LOCAL_PROVIDERS,
    ModelUse,
    machines_in_words,
    provider_of,
    uses_now,
)
from core.judge.sign import Kind, Scene, Sign, Signs, signs
from core.model.action import Change
from core.model.argv_knobs import launched_with
from core.model.finding import Proposal
from core.model.order import OrderState
from core.model.process import Process
from core.model.task import TaskState
from core.text import shown

USUAL_CONNECTIONS = 10
"""Inspect's default for `max_connections`."""

_SHARE = JudgeRule(
    kind="rate-limit", name="share", default=20, unit="percent", high=100,
    help="Part of the calls to a model that waits for a retry, over several processes.",
)  # fmt: skip
_SAMPLES = JudgeRule(
    kind="rate-limit", name="samples", default=3, unit="samples",
    help="Samples that wait for a retry, at least.",
)  # fmt: skip
_EASES = 0.5


@dataclass(slots=True, kw_only=True)
class _Ceilings:
    """The connections that the processes which use a model may open."""

    processes: dict[ProcessKey, int]
    machines: dict[MachineName, None]
    reading: float = 0.0

    @property
    def total(self) -> int:
        return sum(self.processes.values())


def _signs(scene: Scene) -> Signs | None:
    ceilings = _ceilings(scene.fleet)
    uses = uses_now(scene)
    found: list[Sign] = []
    for model, each in ceilings.items():
        budget = scene.rules.budgets.get(model)
        throttled = _is_throttled(scene, model, uses.get(model))
        is_over = budget is not None and each.total > budget
        if is_over or throttled is not None:
            found.append(_sign(model, each, budget if is_over else None, throttled))
    return signs(scene.at, found)


def _is_throttled(scene: Scene, model: str, use: ModelUse | None) -> ModelUse | None:
    """Return how a model is used, if several processes that share its key are throttled."""
    if use is None or provider_of(model) in LOCAL_PROVIDERS or len(use.processes) < 2:  # noqa: PLR2004
        return None
    eases = _EASES if model in scene.open else 1.0
    is_many = use.waiting >= scene.rules.number(_SAMPLES) * eases
    is_much = 100.0 * use.waiting >= use.calls * scene.rules.number(_SHARE) * eases
    return use if use.waiting and is_many and is_much else None


def _sign(model: str, ceilings: _Ceilings, budget: int | None, use: ModelUse | None) -> Sign:
    sharing = plural(len(ceilings.processes), "process", "processes")
    name = shown(model, 80)
    where = machines_in_words(ceilings.machines)
    largest = max(ceilings.processes, key=lambda key: (ceilings.processes[key], str(key)))
    if budget is not None:
        what = (
            f"{sharing} on {where} may open {ceilings.total} connections to {name}, and its budget"
            f" is {budget}"
        )
        fit = ceilings.processes[largest] * budget // ceilings.total
    else:
        what = (
            f"{name} throttles {sharing} on {where}, which may open {ceilings.total} connections"
            " together"
        )
        fit = ceilings.processes[largest] // 2
    fit = max(1, fit)
    change = Change(knob="max_connections", value=fit, model=model)
    return Sign(
        key=model,
        severity="suspect" if use is not None else "notice",
        reading=use.reading if use is not None else ceilings.reading,
        text=sentences(
            what, f"Set max_connections of process {largest.pid} to {fit}, and of the others alike"
        ),
        proposals=(Proposal(action="config", scope="process", changes=(change,)),),
        closes_when="the processes fit the budget"
        if budget is not None
        else "calls to the model are answered",
        machine=largest.machine,
        process=largest,
        model=model,
        count=len(ceilings.processes),
        covered_by=("outage",),
    )


def _ceilings(fleet: Fleet) -> dict[str, _Ceilings]:
    found: dict[str, _Ceilings] = {}
    for key, task in fleet.tasks.items():
        process = fleet.processes.get(key.process)
        if task.state is not TaskState.RUNNING or process is None or process.is_gone:
            continue
        model = task.row.model
        if not model:
            continue
        each = found.setdefault(model, _Ceilings(processes={}, machines={}))
        if process.key not in each.processes:
            each.processes[process.key] = connections_of(fleet, process, model)
        each.machines[key.machine] = None
        heard_at = task.heard_at
        each.reading = min(each.reading, heard_at) if each.reading else heard_at
    return found


def connections_of(fleet: Fleet, process: Process, model: str) -> int:
    """Return how many connections a process may open to a model.

    The newest order that set it counts, then the command line, then Inspect's default.
    """
    for order in fleet.orders:
        if order.state is OrderState.DONE and order.target == process.key:
            for change in order.action.changes:
                is_it = change.knob == "max_connections" and change.model in {"", model}
                if is_it and change.value is not None:
                    return change.value
    return launched_with(process.argv, "max_connections") or USUAL_CONNECTIONS


KIND = Kind(
    name="rate-limit",
    help="Processes that share a model's key ask for more than it, or its budget, allows.",
    numbers=(_SHARE, _SAMPLES),
    of_fleet=_signs,
)
