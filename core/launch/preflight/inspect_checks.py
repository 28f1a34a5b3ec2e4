"""The interpreter, its Inspect, and what that version can't do."""

import re
from collections.abc import Iterator

from core.ctl.features import REQUIREMENTS, upgrade_command
from core.launch.engines.registry import terminal_engine_line
from core.launch.plan.run_plan import RunPlan
from core.launch.preflight.check_text import error_of, listed
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.survey_facts import InspectFacts, SurveyFacts
from core.model.machine import ToolState

DETACH_SINCE = "0.3.250"
"""The first Inspect that is known to start an eval in the background."""

_UNCACHED = ("No solution found", "No interpreter found", "offline", "network", "cache")
_PINNED = re.compile(r"inspect-ai==([0-9A-Za-z.]+)")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")


def host_checks(facts: SurveyFacts) -> Iterator[Check]:
    """Yield what the machine is."""
    host = facts.host.value
    if host is None:
        yield warning("python", "the machine tells nothing of itself")
        return
    where = " as ".join(filter(None, (host.host, host.user)))
    yield passed("python", f"Python {host.python} on {host.platform} ({where})")


def python_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the run's interpreter is there: the one given, or what uv makes."""
    yield from host_checks(case.facts)
    if case.plan.python is None:
        yield from _uv(case)
    else:
        yield from _given(case.facts, case.plan.python)


def _given(facts: SurveyFacts, python: str) -> Iterator[Check]:
    part = facts.inspect
    match part.state:
        case ToolState.ABSENT:
            advice = "name one that is there and has Inspect, or none: uv then gets Inspect"
            yield stop("python", f"there is no {python}", advice)
        case ToolState.FAILED:
            yield stop("python", f"{python} does not run: {error_of(part.error)}")
        case ToolState.STUCK:
            yield warning("python", f"{python} gave no answer: {error_of(part.error)}")
        case ToolState.UNKNOWN:
            yield warning("python", f"nothing is known of {python}")
        case ToolState.OK:
            pass


def _uv(case: PreflightContext) -> Iterator[Check]:
    facts = case.facts
    home = facts.places.get("~")
    if home is not None and home.value is not None and home.value.no_exec:
        advice = "name an interpreter that has Inspect as python"
        yield stop("uv", "programs can't be run from the home there, and uv is put into it", advice)
    elif facts.uv.value is not None:
        yield passed("uv", f"{facts.uv.value.version or 'uv'} is there")
    else:
        yield passed("uv", "uv is put into ~/.evalroom/bin when the run is prepared")
    if facts.inspect.state is ToolState.OK:
        return
    wanted = f"Inspect {pinned_version(case.plan) or ''}".strip()
    host = facts.host.value
    if host is not None and host.has_route is False:
        said = f"uv has to fetch {wanted}, and the machine has no way into a network"
        yield stop("uv", said, "name an interpreter that has Inspect as python")
    elif facts.inspect.state is ToolState.FAILED and _is_uncached(facts.inspect.error):
        yield passed("uv", f"{wanted} or a package is not in uv's cache: it is fetched first")
    elif facts.inspect.state is ToolState.FAILED:
        yield warning(
            "uv", f"uv can't run {wanted} from its cache: {error_of(facts.inspect.error)}"
        )


def _is_uncached(error: str) -> bool:
    return any(word in error for word in _UNCACHED)


def pinned_version(plan: RunPlan) -> str | None:
    """Return the version of Inspect that uv is asked for; None: an interpreter has its own."""
    found = (_PINNED.fullmatch(word) for word in plan.command)
    return next((each[1] for each in found if each), None) if plan.python is None else None


def inspect_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether Inspect works there, and what that version can't do."""
    told = case.inspect
    version = pinned_version(case.plan) if told is None else told.inspect
    if told is not None:
        trouble = _trouble(told, case.plan.python)
        if trouble is not None:
            yield trouble
            return
    if version is None:
        return
    refused = list(_unknown_options(case, told, version))
    yield from refused
    cannot = features_missing(version)
    if refused:
        return
    if cannot:
        said = f"Inspect {version} is too old to {listed(cannot)}"
        newest = max((each.since for each in REQUIREMENTS.values()), key=_numbers)
        yield warning("Inspect", said, _newer(case.plan, newest))
    else:
        yield passed("Inspect", f"Inspect {version}")


def _trouble(told: InspectFacts, python: str | None) -> Check | None:
    where = python or "what uv made"
    if told.inspect is None and told.broken:
        return stop("Inspect", f"Inspect can't be had with {where}: {error_of(told.broken)}")
    if told.inspect is None:
        advice = (
            f"{upgrade_command(python, DETACH_SINCE)}; or leave python out: uv then gets Inspect"
            if python is not None
            else ""
        )
        return stop("Inspect", f"{where} has no Inspect", advice)
    if told.broken:
        said = f"Inspect {told.inspect} can't be imported: {error_of(told.broken)}"
        return stop("Inspect", said, "mend that environment, or name another python")
    if not told.imported:
        return warning("Inspect", f"Inspect {told.inspect} did not come up: {error_of(told.error)}")
    return None


def _unknown_options(
    case: PreflightContext, told: InspectFacts | None, version: str
) -> Iterator[Check]:
    """Yield a stop for the options of the command that this Inspect does not have."""
    asked = options_of(case.plan)
    if told is not None and told.options is not None:
        missing = [each for each in asked if each not in told.options]
    elif "--detach" in asked and _numbers(version) < _numbers(DETACH_SINCE):
        missing = ["--detach"]
    else:
        missing = []
    if missing:
        advice = _newer(case.plan, DETACH_SINCE if "--detach" in missing else None)
        if missing == ["--detach"]:
            advice += f"; or {terminal_engine_line()}"
        yield stop("Inspect", f"Inspect {version} has no {listed(missing)}", advice)


def options_of(plan: RunPlan) -> tuple[str, ...]:
    """Return the options of a plan's command, by their names."""
    words = plan.command[plan.command.index("eval-set") + 1 :]
    named = (word.partition("=")[0] for word in words if word.startswith("-"))
    return tuple(dict.fromkeys(name for name in named if _OPTION.fullmatch(name)))


def features_missing(version: str) -> tuple[str, ...]:
    """Return what can't be done to runs of this Inspect from here: `pause task`, ..."""
    has = _numbers(version)
    if not has:
        return ()
    changing = ((name, each) for name, each in REQUIREMENTS.items() if each.method != "get")
    return tuple(name for name, each in changing if has < _numbers(each.since))


def _newer(plan: RunPlan, version: str | None) -> str:
    """Return how to come to a newer Inspect; version None: the newest."""
    if plan.python is not None:
        command = upgrade_command(plan.python, version or DETACH_SINCE)
        return command if version is not None else f"leave it out, or try a newer one: {command}"
    return "take a newer one with inspect, or leave that out" if version else "leave it out"


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version to compare by; none where it is no version."""
    found = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}", version)
    return tuple(int(each) for each in found[0].split(".")) if found else ()
