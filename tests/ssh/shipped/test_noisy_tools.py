"""Tools whose wrappers print banners and escape codes: their versions are found all the same."""
# pyright: standard
# The shipped programs have no types.

import subprocess
import sys
from pathlib import Path

import pytest

from ssh.shipped.survey import programs
from ssh.shipped.survey.docker import read_docker
from tests.support.tree import ROOT

NOISE = "printf '\\033[?1034hWelcome {\\r\\n'; echo 'warning: old' >&2"


def tool(folder: Path, name: str, script: str) -> str:
    """Put a shell script in the place of a tool."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{NOISE}\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_uv_is_known_by_its_own_words(tmp_path: Path) -> None:
    uv = tool(tmp_path, "uv", "printf 'banner '; echo 'uv 0.9.9 (abc)'")
    ask = f"from ssh.shipped.fetch.uv import version_of; print(version_of({uv!r}))"
    ran = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0.9.9\n"
    assert programs.read_uv(uv) == {"version": "uv 0.9.9 (abc)"}


@pytest.mark.parametrize(
    ("script", "version"),
    [("echo 'tmux 3.4'", "tmux 3.4"), ("echo 'openjdk 17.0.1' >&2", "openjdk 17.0.1")],
)
def test_a_version_is_the_line_with_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, version: str
) -> None:
    path = tool(tmp_path, "thing", script)
    monkeypatch.setattr(programs, "tool_path", lambda _: path)
    assert programs.read_version("thing") == version


def test_docker_is_known_by_its_own_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = '{"ServerVersion": "27.1.1", "ContainersRunning": 0, "MemTotal": 9}'
    path = tool(tmp_path, "docker", f"echo '{info}'")
    monkeypatch.setattr("ssh.shipped.survey.docker.tool_path", lambda _: path)
    found = read_docker()
    assert (found["version"], found["memory"]) == ("27.1.1", 9)
