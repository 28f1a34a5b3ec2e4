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
from ssh.shipped.probe.requests import Request
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
