"""Docker under a running eval: containers that die, an engine that stops, containers left over."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.act.service import ActionService
from core.errors import NotConfirmed
from core.fold.operations import operations_of
from core.fold.sandboxes import leftovers
from core.guide.guide import StepKind, StepState
from core.guide.runner import GuideRunner
from core.model.finding import Finding
from core.model.operation import operation_words
from core.model.task import Task
from storage.database import Database
from storage.guides import Guides
from tests.support.desk_on_evals import LOCAL, OFTEN, Watched, this_computer, watching
from tests.support.docker_engine import DockerEngine, docker_group
from tests.support.evals import Eval, short_folder, start_eval
from tests.support.orders import HERE, Book

pytestmark = docker_group


@asynccontextmanager
async def boxed(
    engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[tuple[Watched, Eval]]:
    """Watch an eval whose two samples run in containers of this engine."""
    with short_folder() as folder:
        variables = engine.for_inspect(folder)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        args = {"gate": str(folder / "gate")}
        one = start_eval(folder / "e", "sandboxed", args=args, env=variables)
        watch = replace(OFTEN, facts_every=1.0)
        machines = [this_computer(one.data_dir)]
        try:
            async with watching(
                machines, folder / "known_hosts", watch, read_only=False
            ) as watched:
                await watched.until(lambda: has_both(watched, one, folder), "both samples wait")
                yield watched, one
        finally:
            (folder / "gate").touch()
            one.popen.kill()
            one.popen.wait()
            remove_all(engine)


def poll_at_once(watched: Watched) -> None:
    """Read the evals now: on a loaded machine, a slow first answer makes a long pause."""
    for key in watched.fleet.processes:
        watched.desk.poll_now(key)


def has_both(watched: Watched, one: Eval, folder: Path) -> Task | None:
    poll_at_once(watched)
    tasks = [each for each in watched.tasks(one) if each.counts and each.counts.running == 2]
    wait = all((folder / f"gate.{sample}").exists() for sample in (0, 1))
    return tasks[0] if wait and tasks and tasks[0].has_sandboxes else None


def containers(engine: DockerEngine) -> list[str]:
    """Return the ids of Inspect's containers."""
    return engine.run("ps", "-a", "-q", "--filter", "name=inspect-sandboxed").split()


def remove_all(engine: DockerEngine) -> None:
    if ids := containers(engine):
        engine.run("rm", "--force", *ids)


def finding(watched: Watched, about: Callable[[Finding], bool]) -> Finding | None:
    poll_at_once(watched)
    open_ones = (each for each in watched.fleet.findings if each.closed_at is None)
    return next((each for each in open_ones if each.kind == "docker" and about(each)), None)


def names(about: Finding) -> bool:
    """Whether it names the sample of a container."""
    return re.search("-default-1 of sample [01]/1", about.text) is not None


def lists(watched: Watched, container: str) -> bool:
    facts = watched.fleet.machines[LOCAL].facts
    assert facts is not None
    return any(container.startswith(each.id) for each in facts.docker.containers)


async def clean_up(watched: Watched, folder: Path) -> None:
    """Remove leftover containers, as the clean-up guide does."""
    acting = ActionService(watched.desk, instance=HERE, store=Book(), post=watched.desk.post)
    async with Database.at(folder / "db") as database:
        kept = Guides(database, alive=lambda _, __: True)
        guiding = GuideRunner(watched.desk, acting, store=kept, worker=watched.desk)
        guide = await guiding.cleanup()
        assert [step.kind for step in guide.steps] == [StepKind.CONTAINERS]
        removal = await guiding.removal(guide.id)
        with pytest.raises(NotConfirmed):
            await guiding.remove_containers(guide.id, removal, words="yes")
        reports = await guiding.remove_containers(guide.id, removal, words=removal.words)
        assert reports.startswith("1 container removed")
        ended = guiding.guide(guide.id)
        assert ended is not None
        assert not ended.is_open
        assert [step.state for step in (await kept.recent(1))[0].steps] == [StepState.DONE]


async def test_containers_that_die_under_an_eval_and_those_it_leaves_are_findings(
    docker_engine: DockerEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with boxed(docker_engine, monkeypatch) as (watched, one):
        first, second = containers(docker_engine)
        docker_engine.run("kill", first)
        killed = await watched.until(
            lambda: finding(watched, lambda each: "stopped" in each.text and names(each)),
            "it stopped, and its sample is known",
        )
        assert killed.task is not None
        assert "Exited (137)" in killed.text
        docker_engine.run("rm", "--force", first)
        await watched.until(
            lambda: finding(watched, lambda each: "no longer has a sandbox: " in each.text),
            "it is gone",
        )
        facts = watched.fleet.machines[LOCAL].facts
        assert facts is not None
        assert leftovers(watched.fleet, LOCAL, facts.docker) == ()
        one.popen.kill()
        one.popen.wait()
        left = await watched.until(
            lambda: finding(watched, lambda each: "left" in each.text and each.task is None),
            "what is left",
        )
        command = left.text.partition("docker rm --force --volumes ")[2].rstrip(".").split()
        assert [second.startswith(each) for each in command] == [True]
        # As an eval on another host would make it, with the same task and home.
        labels = {"": "inspect-sandboxed_by-iabc123", ".working_dir": str(tmp_path)}
        with docker_engine.container(
            *(f"--label=com.docker.compose.project{name}={value}" for name, value in labels.items())
        ) as bystander:
            await watched.until(lambda: lists(watched, bystander), "the other one is listed")
            await clean_up(watched, tmp_path)
            assert docker_engine.run("ps", "-aq", "--no-trunc") == bystander
        await watched.until(
            lambda: finding(watched, lambda each: each.task is None) is None, "it is clean"
        )


async def test_an_exec_that_hangs_in_a_container_is_reported(
    docker_engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with short_folder() as folder:
        variables = docker_engine.for_inspect(folder)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        one = start_eval(folder / "e", "hung", args={"kind": "docker"}, env=variables)

        def told() -> list[str]:
            poll_at_once(watched)
            task = watched.task(one, "hung")
            if task is None:
                return []
            return [operation_words(each) for each in operations_of(watched.fleet, task).values()]

        try:
            async with watching([this_computer(one.data_dir)], folder / "known_hosts") as watched:
                await watched.until(lambda: told() == ["docker exec sleep 1000"], "it hangs")
        finally:
            one.popen.kill()
            one.popen.wait()
            if ids := docker_engine.run("ps", "-aq", "--filter", "name=inspect-hung").split():
                docker_engine.run("rm", "--force", *ids)


@pytest.mark.slow
async def test_an_engine_that_stops_and_comes_back_is_a_finding_for_as_long(
    docker_engine: DockerEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with boxed(docker_engine, monkeypatch) as (watched, _):
        docker_engine.stop()
        try:
            down = await watched.until(
                lambda: finding(watched, lambda each: each.task is not None), "it is down"
            )
            assert "Docker has stopped under this task" in down.text
        finally:
            docker_engine.start()
        lost = await watched.until(
            lambda: finding(watched, lambda each: "stopped: " in each.text),
            "its containers are dead",
        )
        assert "2 containers" in lost.text
