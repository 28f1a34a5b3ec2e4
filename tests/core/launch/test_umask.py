"""Files that a run writes outside its own folder have the modes of the login."""

import os
import stat
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.launch.engines.tmux_sessions import TMUX_COMMAND
from core.launch.provision import fetch_client
from core.launch.run import launcher_client
from core.launch.spec.spec import Code
from tests.support.evals import short_folder
from tests.support.fetching import LocalWorker
from tests.support.repositories import repository
from tests.support.specs import LOCAL, plan, spec
from tests.support.waiting import wait_until


@contextmanager
def login_umask(mask: int) -> Generator[None]:
    """Start all programs with this umask."""
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def tmux(folder: Path, *words: str) -> None:
    """Run a command of evalroom's tmux server in that folder."""
    env = {**os.environ, "TMUX_TMPDIR": str(folder)}
    subprocess.run([*TMUX_COMMAND, *words], env=env, capture_output=True, check=False)


@pytest.mark.parametrize("mask", [0o002, 0o027])
@pytest.mark.parametrize("engine", ["detach", "tmux"])
async def test_an_eval_has_the_logins_umask_and_its_folder_is_private(
    folder: Path, engine: str, mask: int
) -> None:
    # Stands for the eval, in the place of the interpreter that becomes it.
    python = folder / "python"
    python.write_text(f"#!/bin/sh\necho log >{folder}/log; mkdir {folder}/logs; echo >{folder}/end")
    python.chmod(0o755)
    worker = LocalWorker(folder, {"TMUX_TMPDIR": str(folder), "TMUX": None})
    asked = plan(spec(f"engine = '{engine}'"), machine=replace(LOCAL, python=str(python)))
    try:
        with login_umask(0o077):  # a server that someone started before decides nothing
            tmux(folder, "new-session", "-d", "cat")
        with login_umask(mask):
            await launcher_client.create_folder(worker, asked, b"{}")
            await launcher_client.start_run(worker, asked, {})
        wait_until((folder / "end").exists, "the eval ends")
        assert mode(folder / "log") == 0o666 & ~mask
        assert mode(folder / "logs") == 0o777 & ~mask
        own = folder / asked.directory.removeprefix("~/")
        assert mode(own) == 0o700
        assert {mode(own / name) for name in ("start.sh", "launch.json")} == {0o600}
    finally:
        tmux(folder, "kill-server")


async def test_a_checkout_has_the_logins_usual_modes(folder: Path) -> None:
    with login_umask(0o022):
        source = repository(folder / "source", {"Dockerfile": "FROM x\n", "bin/run": "#!\n"})
        asked = plan(replace(spec(), code=Code(repository=str(source.folder))))
        worker = LocalWorker(folder / "home")
        worker.home.mkdir()
        await fetch_client.fetch_code(worker, asked, token=None)
    own = worker.home / asked.directory.removeprefix("~/")
    code = own / "code"
    assert (mode(own), mode(code), mode(code / "bin")) == (0o700, 0o755, 0o755)
    assert {mode(code / "Dockerfile"), mode(code / "bin" / "run")} == {0o644}
