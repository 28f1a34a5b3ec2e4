"""Logs are read by one start of Inspect after another; who gives up first comes first."""
# pyright: standard
# The shipped programs have no types.

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


def test_a_log_that_somebody_waits_for_is_read_before_those_that_may_take_long(
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
