"""Surveys machines before a launch, and chooses the best one for each run."""

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
from core.launch.preflight.survey_request import child_job, survey_job
from core.launch.progress import OnProgress
from core.model.job import Worker

SURVEY_TIMEOUT_S = 120.0
"""Timeout of one survey, seconds. A survey usually takes two or three seconds, and up to half a
minute if a task can't be imported."""
CHILD_TIMEOUT_S = 30.0
"""Timeout for looking for a process that a survey left behind, seconds."""


async def survey_machine(
    worker: Worker,
    plans: Sequence[RunPlan],
    machine: MachineConfig,
    fleet: Fleet,
    *,
    python: str | None = None,
    deadline: float = SURVEY_TIMEOUT_S,
) -> SurveyFacts | Check:
    """Survey a machine once for all of these plans; a stop if it can't be surveyed.

    Args:
        worker: Does jobs on machines.
        plans: Plans of one spec on this machine; empty: survey what any run needs.
        machine: The machine.
        fleet: Its link, and the probe's last readings.
        python: See `survey_job`.
        deadline: Timeout, seconds.
    """
    known = fleet.machines.get(machine.name)
    job = survey_job(plans, machine, None if known is None else known.facts, python=python)
    try:
        facts = parse_survey(await worker.work(machine.name, job, deadline=deadline))
    except RequestFailed as error:
        link = None if known is None else known.link
        if link is None or link.is_alive:
            return stop("link", f"can't survey {machine.name}: {error.message}", error.advice)
        why = link.reason or f"the link is {link.state}"
        return stop("link", f"{machine.name} is not reachable: {why}", link.advice or "")
    if facts.child.value is None:
        return facts
    return replace(facts, outlives=await _outlives(worker, machine.name, facts.child.value))


async def _outlives(worker: Worker, machine: MachineName, left: tuple[int, str]) -> bool | None:
    """Return whether a process outlived the link that started it; None: it can't be looked for."""
    try:
        answer = await worker.work(machine, child_job(left), deadline=CHILD_TIMEOUT_S)
    except RequestFailed:
        return None
    found = answer.get("outlives")
    return found if isinstance(found, bool) else None


async def check_machine(
    worker: Worker,
    machine: MachineConfig,
    fleet: Fleet,
    *,
    python: str | None = None,
    deadline: float = SURVEY_TIMEOUT_S,
) -> tuple[Check, ...]:
    """Survey a machine and return the checks for any run.

    Args:
        worker: Does jobs on machines.
        machine: The machine.
        fleet: All that is known now.
        python: The interpreter of runs on the machine; None: the machine's own, or uv's.
        deadline: Timeout, seconds.
    """
    surveyed = await survey_machine(worker, (), machine, fleet, python=python, deadline=deadline)
    if isinstance(surveyed, Check):
        return (surveyed,)
    return assess_machine(surveyed, fleet, machine.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A run on one of its candidates; `gpus` are the lock files of the GPUs that it can get."""

    plan: RunPlan
    checks: tuple[Check, ...]
    gpus: tuple[str, ...] = ()
    was_surveyed: bool = True

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
    on_progress: OnProgress | None = None,
) -> tuple[CheckedPlan, ...]:
    """Choose the machine for each run of a launch, and return the plans with their checks.

    Machines are surveyed concurrently, each once for all runs. The first candidate without a
    stop wins; for a run with GPUs, the one with the most free GPUs. GPUs that one run gets do
    not count as free for the next. If every candidate has a stop, the surveyed one with the
    fewest stops wins.

    Args:
        worker: Does jobs on machines.
        runs: For each run of a spec, its plans on all candidates, in the order of the config.
        machines: The machines of the config.
        fleet: Returns the fleet; called again after the surveys.
        secrets: Names of the stored secrets.
        deadline: Timeout for each machine, seconds.
        on_progress: Gets a line of text after each machine.
    """
    asked: dict[MachineName, list[RunPlan]] = defaultdict(list)
    for plan in (plan for plans in runs for plan in plans):
        asked[plan.machine].append(plan)
    done = 0

    async def one(name: MachineName) -> SurveyFacts | Check:
        nonlocal done
        surveyed = await survey_machine(
            worker, asked[name], machines[name], fleet(), deadline=deadline
        )
        done += 1
        if on_progress is not None:
            on_progress(f"checked {name}: {done} of {len(asked)}")
        return surveyed

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
    surveyed: SurveyFacts | Check,
    fleet: Fleet,
    secrets: Collection[str],
    held: Collection[str],
) -> _Candidate:
    if isinstance(surveyed, Check):
        return _Candidate(plan=plan, checks=(surveyed,), was_surveyed=False)
    case = PreflightContext(plan=plan, facts=surveyed, fleet=fleet, secrets=secrets, held=held)
    return _Candidate(
        plan=plan,
        checks=assess_run(plan, surveyed, fleet, secrets=secrets, held=held),
        gpus=tuple(lock_name(each) for each in free_gpus(case)) if plan.spec.gpus else (),
    )


def _best(fitting: Sequence[_Candidate]) -> _Candidate:
    def rank(each: _Candidate) -> tuple[bool, bool, int, int]:
        return bool(each.stops), not each.was_surveyed, len(each.stops), -len(each.gpus)

    return min(fitting, key=rank)


def _checked(best: _Candidate, fitting: Sequence[_Candidate]) -> CheckedPlan:
    plan = best.plan
    if best.was_surveyed:
        warnings = warnings_of(plan.request, python=plan.python, is_surveyed=True)
        plan = replace(plan, warnings=warnings)
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
    return stops[0].message + (f" (and {more} more)" if more else "")
