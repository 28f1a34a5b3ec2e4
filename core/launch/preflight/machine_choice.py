"""Looks at machines before runs are started there, and finds for each run the one that fits."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from core.config.model import MachineConfig
from core.errors import RequestFailed
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.plan.run_plan import RunPlan
from core.launch.plan.warnings import warnings_of
from core.launch.preflight.assessment import assess_machine, assess_run
from core.launch.preflight.checks import Check, CheckedPlan, CheckLevel, stop
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.gpu_checks import free_gpus
from core.launch.preflight.gpu_reservations import lock_name
from core.launch.preflight.survey_facts import SurveyFacts, parse_survey
from core.launch.preflight.survey_request import survey_job
from core.launch.progress import OnProgress
from core.model.job import Worker

SURVEY_TIMEOUT_S = 120.0
"""Seconds for one survey, its program's way there included. It takes two or three where all is
well, and half a minute where a task can't be imported; a second task adds a few."""


async def survey_machine(
    worker: Worker,
    plans: Sequence[RunPlan],
    machine: MachineConfig,
    fleet: Fleet,
    *,
    python: str | None = None,
    deadline: float = SURVEY_TIMEOUT_S,
) -> SurveyFacts | Check:
    """Look at a machine once, for all of these plans; a stop where it can't be looked at.

    Args:
        worker: Has it looked at.
        plans: Of one spec, on this machine; none: what any run needs.
        machine: Where.
        fleet: Its link, and what the probe last read.
        python: As `survey_job` takes it.
        deadline: Seconds.
    """
    known = fleet.machines.get(machine.name)
    job = survey_job(plans, machine, None if known is None else known.facts, python=python)
    try:
        return parse_survey(await worker.work(machine.name, job, deadline=deadline))
    except RequestFailed as error:
        link = None if known is None else known.link
        if link is None or link.is_alive:
            return stop("link", f"{machine.name} can't be looked at: {error.message}", error.advice)
        why = link.reason or f"the link is {link.state}"
        return stop("link", f"{machine.name} can't be reached: {why}", link.advice or "")


async def preflight(
    worker: Worker,
    plan: RunPlan,
    machine: MachineConfig,
    fleet: Fleet,
    *,
    secrets: Collection[str],
    deadline: float = SURVEY_TIMEOUT_S,
) -> tuple[Check, ...]:
    """Return what a look at its machine says of one run; that it can't be reached is a stop.

    Args:
        worker: Has it looked at.
        plan: Of the run.
        machine: Where it is planned.
        fleet: All that is watched.
        secrets: The names of the secrets that are known here.
        deadline: Seconds.
    """
    told = await survey_machine(worker, (plan,), machine, fleet, deadline=deadline)
    return (told,) if isinstance(told, Check) else assess_run(plan, told, fleet, secrets=secrets)


async def check_machine(
    worker: Worker,
    machine: MachineConfig,
    fleet: Fleet,
    *,
    python: str | None = None,
    deadline: float = SURVEY_TIMEOUT_S,
) -> tuple[Check, ...]:
    """Return what a look at a machine says of any run.

    Args:
        worker: Has it looked at.
        machine: Where.
        fleet: All that is watched.
        python: The interpreter that runs there get; None: the machine's, or uv gets Inspect.
        deadline: Seconds.
    """
    told = await survey_machine(worker, (), machine, fleet, python=python, deadline=deadline)
    return (told,) if isinstance(told, Check) else assess_machine(told, fleet, machine.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A run on one of its candidates: `gpus` are the lock files of those that it could get."""

    plan: RunPlan
    checks: tuple[Check, ...]
    gpus: tuple[str, ...] = ()
    was_seen: bool = True

    @property
    def stops(self) -> tuple[Check, ...]:
        return tuple(each for each in self.checks if each.level is CheckLevel.STOP)


async def choose_machines(
    worker: Worker,
    runs: Sequence[Sequence[RunPlan]],
    machines: Mapping[MachineName, MachineConfig],
    fleet: Callable[[], Fleet],
    *,
    secrets: Collection[str],
    deadline: float = SURVEY_TIMEOUT_S,
    tell: OnProgress | None = None,
) -> tuple[CheckedPlan, ...]:
    """Find the machine that fits each run of a launch, with its preflight there.

    Machines are looked at side by side, each once for all runs. The first candidate without a
    stop is taken; where GPUs are asked for, the one with the most free. What one run gets is
    not counted as free for the next. Where none fits, it is the first with the fewest stops
    among those that could be looked at.

    Args:
        worker: Has machines looked at.
        runs: Of one spec: for each run its plan on each candidate, in the order of the config.
        machines: Those of the config.
        fleet: All that is watched, asked for once the looks are done.
        secrets: The names of the secrets that are known here.
        deadline: Seconds for each machine.
        tell: Hears how far it is.
    """
    asked: dict[MachineName, list[RunPlan]] = defaultdict(list)
    for plan in (plan for plans in runs for plan in plans):
        asked[plan.machine].append(plan)
    done = 0

    async def one(name: MachineName) -> SurveyFacts | Check:
        nonlocal done
        told = await survey_machine(worker, asked[name], machines[name], fleet(), deadline=deadline)
        done += 1
        if tell is not None:
            tell(f"looked at {name}: {done} of {len(asked)}")
        return told

    looked = await asyncio.gather(*(one(name) for name in asked))
    facts = dict(zip(asked, looked, strict=True))
    now, held = fleet(), defaultdict[MachineName, set[str]](set)
    out: list[CheckedPlan] = []
    for plans in runs:
        fitting = [
            _candidate(plan, facts[plan.machine], now, secrets, held[plan.machine])
            for plan in plans
        ]
        best = _best(fitting)
        if not best.stops:
            held[best.plan.machine].update(best.gpus[: best.plan.spec.gpus])
        out.append(_checked(best, fitting))
    return tuple(out)


def _candidate(
    plan: RunPlan,
    told: SurveyFacts | Check,
    fleet: Fleet,
    secrets: Collection[str],
    held: Collection[str],
) -> _Candidate:
    if isinstance(told, Check):
        return _Candidate(plan=plan, checks=(told,), was_seen=False)
    case = PreflightContext(plan=plan, facts=told, fleet=fleet, secrets=secrets, held=held)
    return _Candidate(
        plan=plan,
        checks=assess_run(plan, told, fleet, secrets=secrets, held=held),
        gpus=tuple(lock_name(each) for each in free_gpus(case)) if plan.spec.gpus else (),
    )


def _best(fitting: Sequence[_Candidate]) -> _Candidate:
    def rank(each: _Candidate) -> tuple[bool, bool, int, int]:
        return bool(each.stops), not each.was_seen, len(each.stops), -len(each.gpus)

    return min(fitting, key=rank)


def _checked(best: _Candidate, fitting: Sequence[_Candidate]) -> CheckedPlan:
    plan = best.plan
    if best.was_seen:
        said = warnings_of(plan.request, python=plan.python, is_surveyed=True)
        plan = replace(plan, warnings=said)
    return CheckedPlan(
        plan=plan,
        checks=best.checks,
        passed_over=tuple(
            (each.plan.machine, _why_not(each.stops))
            for each in fitting
            if each.stops and each is not best
        ),
    )


def _why_not(stops: Sequence[Check]) -> str:
    """Return why a candidate was passed over, one sentence."""
    more = len(stops) - 1
    return stops[0].said + (f" (and {more} more)" if more else "")
