"""Evals that the probe can't list, which may hold containers."""
# pyright: standard
# The shipped programs have no types.

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ssh.shipped.common.users import user_name
from ssh.shipped.probe.unlisted_evals import engine_of, may_be_same, unlisted_evals, unlisted_row
from tests.support.evals import environment, short_folder
from tests.support.waiting import wait_until

_SCRIPT = """
import pathlib, sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver

@solver
def wait():
    async def solve(state, generate):
        import anyio
        pathlib.Path("waits").touch()
        await anyio.sleep(300)
        return state
    return solve

eval(Task(dataset=[Sample(input="say yes")], solver=wait()), model="mockllm/model", display="none")
"""


@contextmanager
def script_without_a_channel(folder: Path, **more: str) -> Generator[int, None, None]:
    """Yield the pid of a script whose eval runs, and has no control server."""
    (folder / "study.py").write_text(_SCRIPT)
    env = environment(folder / "d", {"INSPECT_EVAL_CTL_SERVER": "false", **more})
    with (folder / "out").open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "study.py"], cwd=folder, env=env, stdout=out, stderr=out
        )
    try:
        wait_until((folder / "waits").exists, "its sample runs", seen=(folder / "out").read_text)
        yield child.pid
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("trace", ["", "elsewhere.log"])
def test_an_eval_of_a_script_without_a_control_server_may_hold_containers(
    trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with short_folder() as folder:
        more = {"INSPECT_TRACE_FILE": str(folder / trace)} if trace else {}
        with script_without_a_channel(folder, **more) as pid:
            assert pid in unlisted_evals([])
            assert pid not in unlisted_evals([pid])
            row = unlisted_row(pid)
            assert row == {"pid": pid, "name": f"{Path(sys.executable).name} study.py",
                           "user": user_name(os.getuid())}  # fmt: skip
            for old in (folder / "d" / "inspect_ai").glob("traces/*"):
                old.unlink()  # as Inspect does once there are ten newer ones
            assert pid in unlisted_evals([])
            monkeypatch.setenv("DOCKER_HOST", "unix:///elsewhere")
            assert pid not in unlisted_evals([])


@pytest.mark.parametrize(
    ("variables", "config", "may_be"),
    [
        ({}, None, True),
        ({"DOCKER_HOST": "unix:///var/run/docker.sock"}, None, True),
        ({"DOCKER_HOST": "tcp://localhost:2375"}, None, True),
        ({"DOCKER_CONTEXT": "lab"}, None, True),
        ({"DOCKER_HOST": "unix:///elsewhere"}, None, False),
        ({}, '{"currentContext": "lab"}', True),
        ({"DOCKER_HOST": "unix:///elsewhere"}, '{"currentContext": "lab"}', False),
        ({}, "[" * 100_000, True),
    ],
)
def test_one_engine_may_be_named_in_several_ways(
    tmp_path: Path, variables: dict[str, str], config: str | None, *, may_be: bool
) -> None:
    (tmp_path / ".docker").mkdir()
    if config is not None:
        (tmp_path / ".docker" / "config.json").write_text(config)
    other = engine_of({"HOME": str(tmp_path), **variables})
    assert may_be_same("unix:///var/run/docker.sock", other) is may_be
    link = tmp_path / "d.sock"
    link.symlink_to("/var/run/docker.sock")
    assert may_be_same(f"unix://{link}", other) is may_be
