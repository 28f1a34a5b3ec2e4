"""Whether an eval outlives the link that starts it is found out before it is started."""
# pyright: standard
# The shipped programs have no types.

import asyncio
import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from core.config.model import MachineConfig
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.preflight.checks import Check
from core.launch.preflight.link_checks import link_checks
from core.launch.preflight.machine_choice import check_machine
from core.model.job import Job
from ssh.jobs import do_job
from ssh.links.command_link import CommandLink
from ssh.shipped.survey import session
from tests.support.docker_engine import (
    BASE_PYTHON,
    IMAGE,
    PYTHON,
    DockerEngine,
    docker_group,
)
from tests.support.surveys import WELL, found, texts
from tests.support.waiting import wait_until

FAR = MachineConfig(name=MachineName("far"), link="command", command=("x",))


@dataclass
class Linked:
    """Does jobs over a command link: each starts the command anew."""

    command: tuple[str, ...]
    python: str = sys.executable
    answers: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        link = CommandLink(machine, self.command)
        try:
            answer = await do_job(machine, link, job, python=self.python, deadline=deadline)
        finally:
            await link.close()
        self.answers.append(answer)
        return answer


async def link_check(worker: Linked) -> list[Check]:
    checks = await check_machine(worker, FAR, Fleet(), python="/nowhere")
    return [each for each in checks if each.name == "link"]


async def test_a_process_that_outlives_its_link_is_found_and_ended() -> None:
    worker = Linked(("env",))
    [check] = await link_check(worker)
    assert (check.level, check.message) == (
        "ok", "a process that the link starts outlives it",
    )  # fmt: skip
    [pid, start] = worker.answers[0]["child"]["value"]
    await asyncio.to_thread(
        wait_until, lambda: session.start_mark(pid) != start, "the process that was left has ended"
    )


async def test_a_link_that_takes_its_children_with_it_stops_a_launch() -> None:
    # Its first process ends with the link, and the kernel ends all others of that namespace.
    worker = Linked(("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    [check] = await link_check(worker)
    assert check.level == "stop"
    assert check.message.startswith("the eval would end with its link: a process that")


@docker_group
@pytest.mark.slow
async def test_docker_run_ends_what_its_link_leaves_and_docker_exec_does_not(
    docker_engine: DockerEngine,
) -> None:
    run = (*docker_engine.words, "run", "--rm", "-i", "--network=none", *PYTHON, IMAGE)
    [check] = await link_check(Linked(run, BASE_PYTHON))
    assert check.level == "stop"
    assert check.message.endswith("the link's command runs in a container that ends with it")
    assert "docker exec" in check.advice
    with docker_engine.container(*PYTHON) as name:
        exec_ = (*docker_engine.words, "exec", "-i", name)
        [check] = await link_check(Linked(exec_, BASE_PYTHON))
        assert check.level == "ok"
        left = docker_engine.run("exec", name, "ps", "-o", "stat,args")
        assert [line for line in left.splitlines() if line.startswith("Z")] == []


@pytest.mark.parametrize(
    ("groups", "ends"),
    [
        ("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n", "step"),
        ("0::/system.slice/run-u12.service\n", "service"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", "logout"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r9.scope\n", None),
        ("0::/\n", None),
    ],
)
def test_the_reason_why_a_session_ends_its_processes_is_known_by_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, ends: str | None
) -> None:
    monkeypatch.setattr(session, "read_file", lambda _: groups.encode())
    with busctl(tmp_path, monkeypatch, KillUserProcesses="b true"):
        assert session.read_session(is_command=False) == ends
    me = f'as 1 "{session.user_name(os.getuid())}"'
    other = {"KillUserProcesses": "b true", "KillOnlyUsers": 'as 1 "nobody-else"'}
    spared = {"KillUserProcesses": "b true", "KillExcludeUsers": me}
    for answers in ({"KillUserProcesses": "b false"}, other, spared, {}):
        with busctl(tmp_path, monkeypatch, **answers):
            assert session.read_session(is_command=False) == (None if ends == "logout" else ends)


@contextmanager
def busctl(folder: Path, monkeypatch: pytest.MonkeyPatch, **answers: str) -> Generator[None]:
    """Stand in for what systemd's login manager answers."""
    cases = "".join(f"*{name}) echo '{answer}';;\n" for name, answer in answers.items())
    tool = folder / "busctl"
    tool.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}*) exit 1;; esac\n')
    tool.chmod(0o755)
    monkeypatch.setattr(session, "find_tool", lambda _: str(tool))
    yield


def test_a_session_that_ends_its_processes_is_reported_with_what_to_do() -> None:
    facts = replace(WELL, session=found("logout"))
    [sentence] = texts(list(link_checks(facts)))
    assert sentence.startswith("warning link: the eval may end with its link")
    assert "KillUserProcesses=no" in sentence
    assert texts(list(link_checks(WELL))) == []
    assert list(link_checks(replace(WELL, session=found("strange")))) == []
