"""Docker where samples have containers, and whether these fit into memory."""

import re
from collections.abc import Iterator

from core.launch.preflight.check_text import error_of, size
from core.launch.preflight.checks import Check, passed, stop, warning
from core.launch.preflight.context import PreflightContext
from core.launch.preflight.sandboxes import (
    DEFAULT_SANDBOX_BYTES,
    concurrent_sandboxes,
    needs_docker,
)
from core.launch.preflight.survey_facts import DockerFacts, SurveyFacts, SurveyPart
from core.model.machine import ToolState

MIN_ENGINE_VERSION, MIN_COMPOSE_VERSION = "24.0.6", "2.21.0"
"""The oldest Docker Engine and Compose that Inspect takes."""


def docker_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield whether containers can be had, where the samples of this run have some."""
    if not needs_docker(case.spec, case.task):
        return
    docker = case.facts.docker
    if docker.value is None:
        yield _without(case.spec.task[0], docker)
        return
    old = list(_too_old(docker.value))
    yield from old or [passed("Docker", docker_summary(docker.value))]
    if not old:
        yield from _arithmetic(case, docker.value)


def _without(task: str, docker: SurveyPart[DockerFacts]) -> Check:
    needs = f"{task} needs Docker"
    match docker.state:
        case ToolState.ABSENT:
            advice = "install it there, take another machine, or another sandbox in options"
            return stop("Docker", f"{needs}, and there is none", advice)
        case ToolState.FAILED:
            advice = ""
            if "permission denied" in docker.error.lower():
                advice = "the login must be in the group docker there"
            return stop("Docker", f"{needs}, and it fails: {error_of(docker.error)}", advice)
        case ToolState.STUCK:
            advice = "look at its daemon there"
            return stop("Docker", f"{needs}, and it hangs: {error_of(docker.error)}", advice)
        case _:
            return warning("Docker", f"{needs}, and nothing is known of it there")


def _too_old(docker: DockerFacts) -> Iterator[Check]:
    if _numbers(docker.version) < _numbers(MIN_ENGINE_VERSION):
        said = f"Docker there is {docker.version}, and Inspect takes {MIN_ENGINE_VERSION} or newer"
        yield stop("Docker", said, "bring a newer Docker there")
    if docker.compose is None:
        said = "Docker there has no Compose, and Inspect starts containers with it"
        yield stop("Docker", said, f"bring its plugin Compose {MIN_COMPOSE_VERSION} or newer there")
    elif _numbers(docker.compose) < _numbers(MIN_COMPOSE_VERSION):
        said = (
            f"Docker Compose there is {docker.compose}, and Inspect takes"
            f" {MIN_COMPOSE_VERSION} or newer"
        )
        yield stop("Docker", said, "bring a newer Compose there")


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version; one that is none is taken for a new one."""
    found = re.match(r"v?([0-9]{1,6}(?:\.[0-9]{1,6}){1,2})", version)
    return tuple(int(each) for each in found[1].split(".")) if found else (2**31,)


def docker_summary(docker: DockerFacts) -> str:
    """Return a Docker that answers, in words."""
    used = f" that take {size(docker.used)}" if docker.used else ""
    running = "no container runs"
    if docker.running:
        running = f"{docker.running} container{'s run' if docker.running != 1 else ' runs'}{used}"
    compose = f", Compose {docker.compose}" if docker.compose else ""
    return f"Docker {docker.version}{compose}; {running}"


def _arithmetic(case: PreflightContext, docker: DockerFacts) -> Iterator[Check]:
    """Yield whether the containers of all samples that run at once fit into memory."""
    host = case.facts.host.value
    count = concurrent_sandboxes(case.spec, None if host is None else host.cpus)
    free = _free(case.facts, docker)
    if count is None or free is None:
        yield warning("containers", "it is not known how many there are at once, or what is free")
        return
    told = None if case.task is None else case.task.memory
    each = told or DEFAULT_SANDBOX_BYTES
    source = "its compose file says so" if told else "1 GiB each is assumed"
    need = count * each
    sum_ = f"{count} x {size(each)} = {size(need)} of memory at once ({source})"
    if need <= free:
        yield passed("containers", f"{sum_}, {size(free)} are free")
        return
    fit = int(free // each)
    advice = f"write max_sandboxes = {fit}" if fit else "free memory there, or take another machine"
    yield warning("containers", f"{sum_}, and only {size(free)} are free", advice)


def _free(facts: SurveyFacts, docker: DockerFacts) -> int | None:
    host = facts.host.value
    free = None if host is None else host.memory.available
    known = [each for each in (free, docker.memory) if each is not None and each >= 0]
    return None if free is None else min(known, default=None)
