"""The job that removes containers that evals left behind."""
# pyright: standard
# The shipped programs have no types.

import json
from pathlib import Path

import pytest

from ssh.shipped.common.cannot_do import CannotDo
from ssh.shipped.launcher import containers
from ssh.shipped.launcher.containers import remove_containers

ONE, OTHER = "1" * 12, "2" * 12
PROJECT = "inspect-task-iabc123"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for docker that lists two containers and writes down all other commands."""
    rows = [{"id": ONE + "a" * 52, "project": PROJECT}, {"id": OTHER + "b" * 52, "project": "web"}]
    (tmp_path / "rows").write_text("".join(json.dumps(each) + "\n" for each in rows))
    docker = tmp_path / "docker"
    docker.write_text(
        f'#!/bin/sh\ncase "$1 $2" in "ps "*) cat {tmp_path}/rows;; "network ls") echo net1;;'
        f' *) echo "$@" >>{tmp_path}/calls;; esac\n'
    )
    docker.chmod(0o755)
    monkeypatch.setattr(containers, "find_tool", lambda _: str(docker))
    return tmp_path / "calls"


def test_exactly_the_given_containers_go_with_the_networks_of_their_projects(calls: Path) -> None:
    assert remove_containers({"containers": {ONE: PROJECT}}) == {"removed": [ONE]}
    assert calls.read_text() == f"rm --force --volumes {ONE}\nnetwork rm net1\n"


def test_a_container_that_is_gone_or_of_another_project_is_left_alone(calls: Path) -> None:
    wanted = {OTHER: PROJECT, "3" * 12: PROJECT, ONE: "inspect-task-iabc124"}
    assert remove_containers({"containers": wanted}) == {"removed": []}
    assert not calls.exists()


@pytest.mark.parametrize(
    ("container", "project"), [("--all", PROJECT), (ONE, "web"), (ONE, ""), ("", PROJECT)]
)
def test_a_container_that_is_not_inspects_is_refused(
    container: str, project: str, calls: Path
) -> None:
    with pytest.raises(CannotDo):
        remove_containers({"containers": {container: project}})
    assert not calls.exists()
