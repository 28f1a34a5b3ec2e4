"""The features of an Inspect are read from its own list of routes; each lack names a way out."""

import json
import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ctl import cli_commands
from core.ctl.features import REQUIREMENTS, Surface, missing, since, surface, upgrade_command
from core.errors import AnswerMalformed
from core.ids import SampleKey
from core.model.process import Process, ProcessState
from tests.support.fleets import process_key, task_key

PROCESS = Process(
    key=process_key(), state=ProcessState.LIVE, since=0.0, data_dir="/d", python="/v/bin/python"
)


def test_a_route_that_is_listed_is_there_with_its_parameters() -> None:
    route = {"parameters": [{"name": "task_id"}, {"name": "dry_run"}, {"x": 1}, 7]}
    found = surface(
        json.dumps({"paths": {"/tasks/{task_id}/pause": {"post": route, "x": 3}, "/y": 5}}).encode()
    )
    assert found.has("pause task")
    assert not found.has("pause now")
    assert not found.has("drain task")
    assert found.takes("pause task", "dry_run")
    assert not found.takes("drain task", "dry_run")


@pytest.mark.parametrize("body", [b"{}", b'{"paths":7}', b"[]", b"<html>"])
def test_a_list_without_routes_is_refused(body: bytes) -> None:
    with pytest.raises(AnswerMalformed):
        surface(body)


def test_nothing_is_had_where_nothing_is_listed() -> None:
    nothing = Surface({})
    assert not any(nothing.has(feature) for feature in REQUIREMENTS)


def test_a_missing_feature_names_its_version_and_the_upgrade() -> None:
    assert since("drain task") == "0.3.265"
    command = upgrade_command("/opt/my env/bin/python", since("drain task"))
    assert shlex.split(command) == [
        "/opt/my env/bin/python", "-m", "pip", "install", "-U", "inspect-ai>=0.3.265",
    ]  # fmt: skip


def test_a_lack_is_reported_with_the_way_out_and_a_feature_that_is_there_is_not() -> None:
    found = Surface({("post", "/tasks/{task_id}/pause"): frozenset({"dry_run"})})
    assert missing("pause task", found) is None
    lack = missing("pause now", found, "/v/bin/python")
    assert lack is not None
    assert "0.3.260" in lack.sentence
    assert lack.command == "/v/bin/python -m pip install -U 'inspect-ai>=0.3.260'"


def test_a_command_runs_in_the_processs_own_folder_with_its_own_inspect() -> None:
    assert cli_commands.task_list(PROCESS) == (
        "XDG_DATA_HOME=/d /v/bin/python -m inspect_ai ctl task list"
    )
    assert cli_commands.task_list(None) == "inspect ctl task list"
    assert cli_commands.task_list(replace(PROCESS, python=None)) == (
        "XDG_DATA_HOME=/d inspect ctl task list"
    )


@given(sample_id=st.text(max_size=20), epoch=st.integers(1, 9))
def test_a_shell_reads_back_what_a_host_named(sample_id: str, epoch: int) -> None:
    command = cli_commands.sample_show(PROCESS, SampleKey(task_key(), sample_id, epoch))
    words = shlex.split(command)
    assert words[-3:] == ["t1", sample_id.replace("\0", ""), str(epoch)]
    assert words[1:7] == [
        "/v/bin/python",
        "-m",
        "inspect_ai",
        "ctl",
        "sample",
        "show",
    ]


def test_a_sample_named_like_an_option_is_not_taken_for_one() -> None:
    command = cli_commands.sample_show(PROCESS, SampleKey(task_key(), "--content", 1))
    assert command.endswith("sample show -- t1 --content 1")
