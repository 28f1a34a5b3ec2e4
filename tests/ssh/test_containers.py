"""Links into containers of a real engine: they come back after every kind of restart."""

import os
import signal
from pathlib import Path

import pytest

from core.config.model import MachineConfig
from core.errors import HostKeyRefused, LinkLost, MachineError, NeedsYou
from core.ids import MachineName
from core.model.machine import LinkState
from ssh.links.command_link import CommandLink, explain_stderr
from ssh.links.ssh_command import has_remote_command
from tests.support.docker_engine import BASE_PYTHON, PYTHON, DockerEngine, docker_group
from tests.support.reached import connection_of
from tests.support.receiving import Receiver, receiving

BOX = MachineName("box")
FOREVER = ("sleep", "1000000")


def machine_in(engine: DockerEngine, container: str) -> MachineConfig:
    """A machine that `docker exec` reaches."""
    command = (*engine.words, "exec", "-i", container)
    return MachineConfig(name=BOX, link="command", command=command, python=BASE_PYTHON)


async def is_back(received: Receiver, hellos: int) -> None:
    """Wait for a new hello; at no time the link waits for the operator."""
    await received.until(lambda: len(received.frames("hello")) > hellos)
    for link in received.links:
        assert link.state not in {LinkState.REFUSED, LinkState.NEEDS_YOU}, link


@docker_group
@pytest.mark.parametrize("how", ["restart", "stop and start", "restarting", "engine"])
async def test_a_container_that_comes_back_is_linked_again(
    how: str, docker_engine: DockerEngine, tmp_path: Path
) -> None:
    engine = docker_engine
    with engine.container(*PYTHON, "--restart=always", command=("sh", "-c", _LIVES)) as name:
        connection = connection_of(machine_in(engine, name), tmp_path / "unused")
        async with receiving(connection) as received:
            await received.hello()
            if how == "restart":
                engine.run("restart", "-t", "0", name)
            elif how == "stop and start":
                engine.run("stop", "-t", "0", name)
                await _is_down_for(received, "is not running")
                engine.run("start", name)
            elif how == "restarting":
                # It ends as soon as it starts, again and again, until the file is gone.
                engine.run("exec", name, "touch", "/ends")
                engine.run("exec", "-d", name, "kill", "1")  # the end of 1 may kill `kill` too
                await _is_down_for(received, "is restarting, wait until the container is running")
                _remove_in(engine, "/ends")
            else:
                engine.stop()
                try:
                    await _is_down_for(received, "Cannot connect to the Docker daemon")
                finally:
                    engine.start()
            await is_back(received, hellos=1)


_LIVES = "trap 'exit 0' TERM; test -e /ends && exit 1; sleep 1000000 & wait"


def _remove_in(engine: DockerEngine, path: str) -> None:
    """Remove a file of a container that does not run now."""
    folders = list((engine.folder / "data" / "vfs" / "dir").glob(f"*{path}"))
    assert folders, "the file is in the container's folder"
    for each in folders:
        each.unlink()


async def _is_down_for(received: Receiver, reason: str) -> None:
    await received.until(lambda: any(reason in (link.reason or "") for link in received.links))
    down = next(link for link in received.links if reason in (link.reason or ""))
    assert down.state is LinkState.DOWN
    assert down.retry_at is not None
    assert "login shell" not in (down.advice or "")


@docker_group
async def test_a_container_without_python_is_refused_by_name(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    with docker_engine.container() as name:
        connection = connection_of(machine_in(docker_engine, name), tmp_path / "unused")
        async with receiving(connection) as received:
            refused = await received.link(LinkState.REFUSED)
            assert f"can't run {BASE_PYTHON} on box" in (refused.reason or "")


@pytest.mark.parametrize(
    ("program", "status", "stderr", "kind"),
    [
        ("docker", 1, "Error response from daemon: Container 7d is restarting, wait", LinkLost),
        ("docker", 1, "Error: No such container: evals", LinkLost),
        ("docker", 126, "OCI runtime exec failed: exec failed: cannot exec in a stopped", LinkLost),
        ("kubectl", 1, 'error: unable to upgrade connection: container not found ("x")', LinkLost),
        ("kubectl", 1, 'Error from server (NotFound): pods "evals-0" not found', LinkLost),
        ("kubectl", 137, "command terminated with exit code 137", LinkLost),
        ("podman", 125, "Error: can only create exec sessions on running containers", LinkLost),
        ("srun", 1, "srun: error: Unable to confirm allocation for job 7: Invalid job", LinkLost),
        ("sudo", 1, "sudo: a password is required", NeedsYou),
        ("sudo", 1, "eve is not in the sudoers file. This incident will be reported.", NeedsYou),
        ("sudo", 1, "Sorry, user eve is not allowed to execute '/bin/sh' as root", NeedsYou),
        ("ssh", 255, "Timeout, server gpu not responding.", LinkLost),
        ("ssh", 255, "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!", HostKeyRefused),
        ("ssh", 1, "This account is currently not available.", None),
    ],
)
def test_a_commands_own_words_are_the_reason(
    program: str, status: int, stderr: str, kind: type[MachineError] | None
) -> None:
    error = explain_stderr(BOX, f"/usr/bin/{program}", status, stderr)
    assert (None if error is None else type(error)) is kind
    assert error is None or stderr in error.message
    assert not isinstance(error, LinkLost) or not error.advice


@pytest.mark.parametrize(
    ("command", "is_more"),
    [
        ("ssh gpu", False),
        ("ssh -p 22 -l eve -J a,b -oPort=7 -vp 22 -Snone gpu -A", False),
        ("ssh gpu docker exec -i evals", True),
        ("ssh -p 22 gpu -v docker exec -i evals", True),
        ("ssh -tp22 gpu kubectl exec -i evals-0 --", True),
        ("autossh -M 0 gpu", False),
        ("autossh -M 0 gpu docker exec -i evals", True),
        ("ssh -p", False),
    ],
)
def test_an_ssh_with_a_command_for_its_host_reaches_more_than_the_host(
    command: str, *, is_more: bool
) -> None:
    words = tuple(command.split())
    assert has_remote_command(words) is is_more
    error = CommandLink(BOX, words).explain(1, "Error: container evals is restarting")
    assert (type(error) is LinkLost) is is_more
    assert error is None or "container evals is restarting" in error.message


async def test_a_shell_that_is_refused_later_is_tried_again(tmp_path: Path) -> None:
    """A command that works once, then refuses programs as a host that shuts down does."""
    gate = tmp_path / "gate"
    gate.write_text(
        '#!/bin/sh\ntest -e "$0.shut" || exec "$@"\necho "System is down" >&2\nexit 1\n'
    )
    gate.chmod(0o755)
    machine = MachineConfig(name=BOX, link="command", command=(str(gate),), python="python3")
    async with receiving(connection_of(machine, tmp_path / "unused")) as received:
        pid = (await received.hello()).head["pid"]
        (tmp_path / "gate.shut").touch()
        os.kill(pid, signal.SIGTERM)
        await received.until(
            lambda: any("System is down" in (e.reason or "") for e in received.links)
        )
        (tmp_path / "gate.shut").unlink()
        await is_back(received, hellos=1)
