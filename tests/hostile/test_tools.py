"""A hostile `docker` on PATH: it is bounded, and only a program that others can't replace runs."""
# pyright: standard
# The shipped programs have no types.

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.ctl.decode import objects
from core.text import shown
from ssh.shipped.common import tools
from ssh.shipped.common.failures import Failed
from ssh.shipped.common.tool_path import find_tool
from ssh.shipped.probe import docker
from ssh.shipped.probe.docker import MAX_CONTAINERS, DockerReader


def program(folder: Path, script: str, name: str = "docker") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def read(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the probe says of Docker with this program in its place."""
    monkeypatch.setattr(docker, "find_tool", lambda _: str(path))
    traces = SimpleNamespace(forget_removed=lambda _: None, holders=dict)
    return DockerReader(SimpleNamespace(by_key={}, data_roots=set), traces)()


@pytest.mark.parametrize("path", ["", ".", "bin", "./bin", "../x"])
def test_a_relative_folder_of_path_is_not_searched(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path, tmp_path / "bin"):
        program(folder, "exit 0")
    monkeypatch.chdir(tmp_path)
    assert find_tool("docker", path) is None
    assert find_tool("docker", f"{path}:{tmp_path}/bin") == f"{tmp_path}/bin/docker"


def test_a_program_that_every_account_can_replace_is_not_run(tmp_path: Path) -> None:
    bad, good = program(tmp_path / "bad", ""), program(tmp_path / "good", "")
    path = f"{bad.parent}:{good.parent}"
    assert find_tool("docker", path) == str(bad)
    bad.chmod(0o777)
    assert find_tool("docker", path) == str(good)
    bad.chmod(0o755)
    bad.parent.chmod(0o777)
    assert find_tool("docker", path) == str(good)


def test_output_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MAX_OUTPUT_BYTES", 100_000)
    with pytest.raises(Failed, match="bytes of output"):
        read(program(tmp_path / "b", "exec yes"), monkeypatch)


def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker, "TOOL_TIMEOUT_S", 0.3)
    with pytest.raises(Failed, match="no answer"):
        read(program(tmp_path / "b", "exec sleep 600"), monkeypatch)


def test_rows_are_bounded_and_no_row_is_taken_for_more_than_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = (
        '{"id": "$(touch HIT)", "name": "\\\\u001b[2J%s", "image": {"a": 1}, "status": "Up 1 s",'
        ' "created": [], "project": "inspect-x-iabcdefg", "config": "", "folder": "/"}'
    )
    script = f"""case "$1" in
version) printf '\\033]0;title\\007 27.1' ;;
ps) i=0; while [ $i -lt 700 ]; do printf '{row}\\n' $i; i=$((i+1)); done; echo '[1]'; echo '{{' ;;
*) echo '{{}}' ;;
esac"""
    found = read(program(tmp_path / "b", script), monkeypatch)
    assert len(found["containers"]) == MAX_CONTAINERS
    assert all(isinstance(each[key], str) for each in objects(found, "containers")
               for key in ("id", "name", "image", "status"))  # fmt: skip
    assert "\x1b" not in shown(found["containers"][0]["name"])
    assert not (Path.cwd() / "HIT").exists()
    assert len(found["containers"][0]["id"]) <= 12
