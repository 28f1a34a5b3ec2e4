"""Logs are read by one start of Inspect after another; who gives up first comes first."""
# pyright: standard
# The shipped programs have no types.

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ssh.shipped.common import other_inspects
from ssh.shipped.common.failures import Failed
from ssh.shipped.common.log_reading import read_with_first
from ssh.shipped.probe.log_reads import LogReads
from ssh.shipped.probe.log_variables import log_variables, variables_for
from ssh.shipped.probe.requests import Request
from tests.support.shipped_answers import prints_answer
from tests.support.waiting import wait_until


class Answers:
    """Stands in for the probe's requests: keeps which were answered."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def answer(self, request: Any, *found: object) -> None:
        """Keep one."""
        del found
        self.ids.append(request.id)


def test_a_log_is_read_with_the_inspect_on_the_path_if_no_interpreter_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "inspect"
    script.write_text(f"#!{sys.executable}\n")
    script.chmod(0o755)
    monkeypatch.setattr(other_inspects, "find_tool", {"inspect": str(script)}.get)
    asked = {"what": "headers", "logs": [str(tmp_path / "no.eval")], "bytes": 1}
    bare = str(Path(sys.base_prefix) / "bin" / "python3")
    answers, why = read_with_first([bare], asked, 60.0)
    assert why is None
    assert [each["error"] for each in answers] == ["the file does not exist"]
    script.write_text("#!/bin/sh\n")
    with pytest.raises(Failed, match="knows no Python with Inspect"):
        read_with_first([bare], asked, 60.0)


def test_the_variables_of_an_eval_that_reach_its_logs_are_kept(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    env = {
        "AWS_ACCESS_KEY_ID": "a", "https_proxy": "p", "OPENAI_API_KEY": "k", "PATH": "/bin",
        "LD_PRELOAD": "/x.so", "PYTHONPATH": f"{tmp_path}:relative::{open_to_all}:/nowhere",
    }  # fmt: skip
    kept = log_variables(env)
    inspect = {"PYTHONPATH": str(tmp_path)}
    assert kept == {"AWS_ACCESS_KEY_ID": "a", "https_proxy": "p", **inspect}
    assert variables_for(kept, ["/a.eval", "s3://b/c.eval"]) == kept
    assert variables_for(kept, ["/a.eval", "file:///c.eval"]) == inspect
    assert log_variables({**env, "AWS_X": "x" * 100_000}) == {}


def test_a_log_is_read_with_the_variables_of_its_eval_and_those_that_were_sent(
    tmp_path: Path,
) -> None:
    python = tmp_path / "python3"
    said = {"log": "s3://b/c.eval", "header": {}}
    python.write_text(f'#!/bin/sh\n[ "$AWS_A,$AWS_B" = kept,sent ] && {prints_answer(said)}\n')
    python.chmod(0o755)
    asked = {"what": "headers", "logs": ["s3://b/c.eval"], "bytes": 1}
    variables = {"AWS_A": "kept", "AWS_B": "sent"}
    assert read_with_first([str(python)], asked, 60.0, variables) == ([said], None)


def test_a_log_that_someone_waits_for_is_read_before_those_that_may_take_long(
    tmp_path: Path,
) -> None:
    answers = Answers()
    reads = LogReads(SimpleNamespace(requests=answers))
    for number, deadline in enumerate((60, 60, 20), start=1):
        head = {"id": number, "path": str(tmp_path / "no.eval"), "deadline": deadline}
        asked = {"what": "headers", "logs": [], "bytes": 1}
        reads.ask(Request(head, "logs"), [sys.base_prefix + "/none/python"], asked, None)
    reads.start()
    wait_until(lambda: len(answers.ids) == 3, "all are answered")
    assert answers.ids == [3, 1, 2]
