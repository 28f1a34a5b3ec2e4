"""Evals that run on a machine already, for the check of a launch's log folder."""
# pyright: standard
# The shipped programs have no types.

import os
import pwd
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ssh.shipped.survey.running import read_running
from tests.support.namespaces import contained_eval

_SLEEPS = """
import os, time
if os.getuid() == 0:
    os.setuid(65534)
print("ready", flush=True)
time.sleep(300)
"""


@contextmanager
def someones_eval(folder: Path, *words: str) -> Generator[int, None, None]:
    """Yield the pid of a process with these words after its interpreter.

    It runs `inspect_ai._cli.main` or `inspect` of `folder`; where the tests run as root, it
    belongs to another account.
    """
    package = folder / "inspect_ai" / "_cli"
    package.mkdir(parents=True)
    for name in ("inspect_ai/__init__.py", "inspect_ai/_cli/__init__.py"):
        (folder / name).touch()
    for path in (package / "main.py", folder / "inspect"):
        path.write_text(_SLEEPS)
    child = subprocess.Popen(
        ["python3.13t", *words], executable=sys.executable, stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(folder), "PATH": os.environ["PATH"]}, cwd=folder,
    )  # fmt: skip
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == b"ready\n"
        yield child.pid
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("how", [("-um", "inspect_ai._cli.main"), ("-S", "inspect")])
def test_an_eval_of_another_account_is_known_by_its_command_line(
    tmp_path: Path, how: tuple[str, str]
) -> None:
    logs = tmp_path / "logs"
    with someones_eval(tmp_path, *how, "eval-set", "t.py", "--log-dir", str(logs)) as pid:
        [row] = [each for each in read_running() if each["pid"] == pid]
    user = pwd.getpwuid(65_534 if os.getuid() == 0 else os.getuid()).pw_name
    assert row == {"pid": pid, "user": user, "run": None, "log_dir": str(logs)}


def test_the_paths_of_a_container_are_not_those_of_the_machine(tmp_path: Path) -> None:
    with contained_eval(tmp_path, verb="eval") as inside:
        [row] = [each for each in read_running() if each["pid"] == inside.pid]
    assert row["log_dir"] is None
