"""Checks of the interpreter, its Inspect, and the features that this version lacks."""

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
"""The first Inspect version known to support `--detach`."""

_UNCACHED = ("No solution found", "No interpreter found", "offline", "network", "cache")
_PINNED = re.compile(r"inspect-ai==([0-9A-Za-z.]+)")
_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9-]*")


def host_checks(facts: SurveyFacts) -> Iterator[Check]:
    """Yield Python version and platform of the machine."""
    host = facts.host.value
    if host is None:
        yield warning("python", "the survey returned nothing about the machine itself")
        return
    where = " as ".join(filter(None, (host.host, host.user)))
    yield passed("python", f"Python {host.python} on {host.platform} ({where})")


def python_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether the run's interpreter works: the given one, or the one from uv."""
    yield from host_checks(case.facts)
    if case.plan.python is None:
        yield from _uv(case)
    else:
        yield from _given(case.facts, case.plan.python)


def _given(facts: SurveyFacts, python: str) -> Iterator[Check]:
    part = facts.inspect
    match part.state:
        case ToolState.ABSENT:
            advice = (
                "set `python` to an interpreter with Inspect, or remove it: uv installs Inspect"
            )
            yield stop("python", f"{python} does not exist on the machine", advice)
        case ToolState.FAILED:
            yield stop("python", f"{python} does not run: {error_of(part.error)}")
        case ToolState.STUCK:
            yield warning("python", f"{python} did not answer: {error_of(part.error)}")
        case ToolState.UNKNOWN:
            yield warning("python", f"the survey could not check {python}")
        case ToolState.OK:
            pass


def _uv(case: PreflightContext) -> Iterator[Check]:
    facts = case.facts
    home = facts.places.get("~")
    if home is not None and home.value is not None and home.value.no_exec:
        advice = "set `python` to an interpreter with Inspect"
        text = "the home folder is mounted noexec, so uv can't run from it"
        yield stop("uv", text, advice)
    elif facts.uv.value is not None:
        yield passed("uv", f"{facts.uv.value.version or 'uv'} is installed")
    else:
        yield passed("uv", "evalroom installs uv into ~/.evalroom/bin before the run starts")
    if facts.inspect.state is ToolState.OK:
        return
    wanted = f"Inspect {pinned_version(case.plan) or ''}".strip()
    host = facts.host.value
    if host is not None and host.has_route is False:
        text = f"uv must download {wanted}, but the machine has no network route"
        yield stop("uv", text, "set `python` to an interpreter with Inspect")
    elif facts.inspect.state is ToolState.FAILED and _is_uncached(facts.inspect.error):
        yield passed(
            "uv",
            f"{wanted} or a package is not cached: evalroom downloads it before the run starts",
        )
    elif facts.inspect.state is ToolState.FAILED:
        yield warning(
            "uv", f"uv can't run {wanted} from its cache: {error_of(facts.inspect.error)}"
        )


def _is_uncached(error: str) -> bool:
    return any(word in error for word in _UNCACHED)


def pinned_version(plan: RunPlan) -> str | None:
    """Return the Inspect version that uv installs; None: an interpreter with its own is given."""
    found = (_PINNED.fullmatch(word) for word in plan.command)
    return next((each[1] for each in found if each), None) if plan.python is None else None


def inspect_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether Inspect works, and the features that its version lacks."""
    facts = case.inspect
    version = pinned_version(case.plan) if facts is None else facts.inspect
    if facts is not None:
        trouble = _trouble(facts, case.plan.python)
        if trouble is not None:
            yield trouble
            return
    if version is None:
        return
    refused = list(_unknown_options(case, facts, version))
    yield from refused
    cannot = features_missing(version)
    if refused:
        return
    if cannot:
        text = f"Inspect {version} is too old to {listed(cannot)}"
        newest = max((each.since for each in REQUIREMENTS.values()), key=_numbers)
        yield warning("Inspect", text, _newer(case.plan, newest))
    else:
        yield passed("Inspect", f"Inspect {version}")


def _trouble(facts: InspectFacts, python: str | None) -> Check | None:
    where = python or "uv's environment"
    if facts.inspect is None and facts.broken:
        return stop("Inspect", f"{where} can't load Inspect: {error_of(facts.broken)}")
    if facts.inspect is None:
        advice = (
            f"{upgrade_command(python, DETACH_SINCE)}; or remove `python`: uv then installs Inspect"
            if python is not None
            else ""
        )
        return stop("Inspect", f"{where} does not have Inspect", advice)
    if facts.broken:
        text = f"Inspect {facts.inspect} can't be imported: {error_of(facts.broken)}"
        return stop(
            "Inspect", text, "repair that environment, or set `python` to another interpreter"
        )
    if not facts.imported:
        return warning(
            "Inspect", f"Inspect {facts.inspect} did not answer: {error_of(facts.error)}"
        )
    return None


def _unknown_options(
    case: PreflightContext, facts: InspectFacts | None, version: str
) -> Iterator[Check]:
    """Yield a stop for options of the command that this Inspect does not have."""
    asked = options_of(case.plan)
    if facts is not None and facts.options is not None:
        missing = [each for each in asked if each not in facts.options]
    elif "--detach" in asked and _numbers(version) < _numbers(DETACH_SINCE):
        missing = ["--detach"]
    else:
        missing = []
    if missing:
        advice = _newer(
            case.plan, DETACH_SINCE if "--detach" in missing else None, many=len(missing) > 1
        )
        if missing == ["--detach"]:
            advice += f"; or {terminal_engine_line()}"
        yield stop("Inspect", f"Inspect {version} does not have {listed(missing)}", advice)


def options_of(plan: RunPlan) -> tuple[str, ...]:
    """Return the names of the options in a plan's command."""
    words = plan.command[plan.command.index("eval-set") + 1 :]
    named = (word.partition("=")[0] for word in words if word.startswith("-"))
    return tuple(dict.fromkeys(name for name in named if _OPTION.fullmatch(name)))


def features_missing(version: str) -> tuple[str, ...]:
    """Return the actions that this Inspect version lacks: `pause task`, ..."""
    has = _numbers(version)
    if not has:
        return ()
    changing = ((name, each) for name, each in REQUIREMENTS.items() if each.method != "get")
    return tuple(name for name, each in changing if has < _numbers(each.since))


def _newer(plan: RunPlan, version: str | None, *, many: bool = False) -> str:
    """Return how to get this Inspect version or a newer one; None: the newest."""
    remove = f"remove the option{'s' * many} from the spec"
    if plan.python is not None:
        command = upgrade_command(plan.python, version or DETACH_SINCE)
        return command if version is not None else f"{remove}, or try a newer Inspect: {command}"
    return "set `inspect` to a newer version, or remove `inspect`" if version else remove


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version to compare by; empty if it is not a version."""
    found = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9}){1,3}", version)
    return tuple(int(each) for each in found[0].split(".")) if found else ()
