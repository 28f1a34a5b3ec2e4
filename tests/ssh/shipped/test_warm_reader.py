"""One start of Inspect serves the reads of a while, each in a process of its own."""
# pyright: standard
# The shipped programs have no types.

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ssh.shipped.common.children import CHILDREN
from ssh.shipped.common.failures import Absent, Failed
from ssh.shipped.probe.warm_reader import WarmReader
from tests.support.waiting import wait_until

PYTHON = [sys.executable]


@pytest.fixture
def reader() -> Iterator[WarmReader]:
    one = WarmReader()
    yield one
    one.stop()
    assert not CHILDREN


def asked(*logs: Path) -> dict[str, Any]:
    return {"what": "headers", "logs": [str(log) for log in logs], "bytes": 1}


def reasons(found: tuple[list[dict[str, Any]], str | None]) -> list[str]:
    answers, why = found
    assert why is None
    return [each["error"] for each in answers]


def test_reads_share_one_start_and_one_that_hangs_or_dies_costs_only_itself(
    reader: WarmReader, tmp_path: Path
) -> None:
    missing = asked(tmp_path / "no.eval", tmp_path / "none.eval")
    gone = ["the file does not exist"] * 2
    assert reasons(reader.run(PYTHON, missing, 90.0)) == gone
    assert reader.child is not None
    pid = reader.child.pid
    assert reasons(reader.run(PYTHON, missing, 90.0)) == gone
    assert reader.child.pid == pid, "it was started anew"

    os.kill(pid, signal.SIGKILL)
    assert reasons(reader.run(PYTHON, missing, 90.0)) == gone
    os.kill(reader.child.pid, signal.SIGSTOP)
    with pytest.raises(Failed, match="no answer in time"):
        reader.run(PYTHON, missing, 2.0)
    assert reader.child is None
    assert reasons(reader.run(PYTHON, missing, 90.0)) == gone

    # It ends by itself with its input, or when nothing is asked for a while.
    ended: Any = reader.child
    ended.stdin.close()

    def is_tidied() -> bool:
        reader.tidy()
        return reader.child is None

    wait_until(is_tidied, "the ended reader is waited for")


def test_an_interpreter_without_inspect_is_named(reader: WarmReader) -> None:
    bare = str(Path(sys.base_prefix) / "bin" / "python3")
    with pytest.raises(Absent, match="has no usable Inspect"):
        reader.run([bare], asked(), 90.0)
    with pytest.raises(Absent):
        reader.run(["/no/python"], asked(), 5.0)
    assert reader.child is None


def test_a_request_that_a_pipe_does_not_hold_waits_no_longer_than_its_time(
    reader: WarmReader, tmp_path: Path
) -> None:
    many = asked(*(tmp_path / f"{number}-{'x' * 200}.eval" for number in range(2_000)))
    assert len(reasons(reader.run(PYTHON, many, 90.0))) == 2_000
    stopped: Any = reader.child
    os.kill(stopped.pid, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(Failed, match="no answer in time"):
        reader.run(PYTHON, many, 1.0)
    assert time.monotonic() - began < 30
    assert reader.child is None
    assert len(reasons(reader.run(PYTHON, many, 90.0))) == 2_000
