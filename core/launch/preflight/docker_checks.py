"""Checks of Docker, for runs whose samples use containers, and of their memory."""

import re
from collections.abc import Iterator

from core.format import plural
from core.launch.preflight.check_text import error_of, listed, same_unit, size
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
"""Oldest versions of Docker Engine and Compose that Inspect supports."""


_PULL_AHEAD = "`evalroom machines prepare` pulls it ahead of time"
_BRING_IMAGE = "bring it with docker load, or pull it while the machine has a network"


def docker_checks(case: PreflightContext) -> Iterator[Check]:
    """Yield the checks of Docker, if the samples of the run use containers."""
    if not needs_docker(case.spec, case.task):
        return
    docker = case.facts.docker
    if docker.value is None:
        yield _without(case.spec.task[0], docker)
        return
    old = list(_too_old(docker.value))
    yield from old or [passed("Docker", docker_summary(docker.value))]
    if not old:
        yield from _images(case, docker.value)
        yield from _arithmetic(case, docker.value)


def _without(task: str, docker: SurveyPart[DockerFacts]) -> Check:
    needs = f"{task} needs Docker"
    match docker.state:
        case ToolState.ABSENT:
            advice = "install Docker on the machine, or choose another machine or sandbox"
            return stop("Docker", f"{needs}, but Docker is not installed", advice)
        case ToolState.FAILED:
            advice = ""
            if "permission denied" in docker.error.lower():
                advice = "add the account to the machine's docker group"
            return stop("Docker", f"{needs}, but Docker fails: {error_of(docker.error)}", advice)
        case ToolState.STUCK:
            advice = "check the Docker daemon on the machine"
            return stop(
                "Docker", f"{needs}, but Docker does not respond: {error_of(docker.error)}", advice
            )
        case _:
            return warning("Docker", f"{needs}, but the survey could not check Docker")


def _too_old(docker: DockerFacts) -> Iterator[Check]:
    if _numbers(docker.version) < _numbers(MIN_ENGINE_VERSION):
        text = f"Docker is {docker.version}, but Inspect needs {MIN_ENGINE_VERSION} or newer"
        yield stop("Docker", text, "update Docker on the machine")
    if docker.compose is None:
        text = "Docker has no Compose, which Inspect needs to start containers"
        yield stop("Docker", text, f"install Compose {MIN_COMPOSE_VERSION} or newer on the machine")
    elif _numbers(docker.compose) < _numbers(MIN_COMPOSE_VERSION):
        text = (
            f"Docker Compose is {docker.compose}, but Inspect needs {MIN_COMPOSE_VERSION} or newer"
        )
        yield stop("Docker", text, "update Compose on the machine")


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version to compare by; an unreadable one counts as new."""
    found = re.match(r"v?([0-9]{1,6}(?:\.[0-9]{1,6}){1,2})", version)
    return tuple(int(each) for each in found[1].split(".")) if found else (2**31,)


def docker_summary(docker: DockerFacts) -> str:
    """Return version and running containers of a Docker in words."""
    used = f" using {size(docker.used)}" if docker.used else ""
    running = "no containers running"
    if docker.running:
        running = f"{plural(docker.running, 'container')} running{used}"
    compose = f", Compose {docker.compose}" if docker.compose else ""
    return f"Docker {docker.version}{compose}; {running}"


def _images(case: PreflightContext, docker: DockerFacts) -> Iterator[Check]:
    """Yield whether the images of the containers are there, or will be pulled."""
    task = case.task
    if task is None:
        return
    if task.missing_file is not None:
        text = f"the file {task.missing_file}, which the task names for Docker, does not exist"
        yield warning("images", text, "correct its sandbox")
    there: list[str] = []
    for name in task.images:
        part = case.facts.images.get(name)
        if part is None or part.value is None:
            continue
        image = part.value
        if image.there:
            there.append(name)
        elif image.error and not docker.has_proxy:
            text = f"the image {name} is not on the machine, and {image.registry} can't be reached"
            yield stop("images", f"{text}: {error_of(image.error)}", _BRING_IMAGE)
        else:
            text = f"the image {name} is not on the machine: the start pulls it"
            yield warning("images", text, _PULL_AHEAD)
    if there:
        yield passed("images", f"{listed(there)} {'is' if len(there) == 1 else 'are'} there")


def _arithmetic(case: PreflightContext, docker: DockerFacts) -> Iterator[Check]:
    """Yield whether the containers of all concurrent samples fit into memory."""
    host = case.facts.host.value
    count = concurrent_sandboxes(case.spec, None if host is None else host.cpus)
    free = _free(case.facts, docker)
    if count is None or free is None:
        yield warning(
            "containers", "unknown how many containers run at once, or how much memory is free"
        )
        return
    memory = None if case.task is None else case.task.memory
    each = memory or DEFAULT_SANDBOX_BYTES
    source = "from its compose file" if memory else "assuming 1 GiB each"
    need = count * each
    each_text, need_text, free_text = same_unit(each, need, free)
    total = f"{count} x {each_text} = {need_text} of memory at once ({source})"
    if need <= free:
        yield passed("containers", f"{total}, {free_text} free")
        return
    fit = int(free // each)
    advice = (
        f"set max_sandboxes = {fit}"
        if fit
        else "free memory on the machine, or choose another machine"
    )
    yield warning("containers", f"{total}, but only {free_text} free", advice)


def _free(facts: SurveyFacts, docker: DockerFacts) -> int | None:
    host = facts.host.value
    free = None if host is None else host.memory.available
    known = [each for each in (free, docker.memory) if each is not None and each >= 0]
    return None if free is None else min(known, default=None)
