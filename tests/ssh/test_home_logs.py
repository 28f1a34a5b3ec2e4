"""Logs that no Inspect of their machine can read are copied and read here."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log

from core.errors import RequestFailed
from core.frames import Frame
from core.model.log_summary import LogCounts, LogSummary, UnreadLog
from core.ports import Reply
from core.watch.log_reads import log_answer, sample_reply
from ssh import home_logs
from ssh.home_logs import NO_INSPECT, HomeLogs
from ssh.shipped.common import log_reading
from ssh.shipped.common.failures import Failed
from ssh.shipped.probe.log_files import read_log_file

FAILED = Reply(at=1.0, took=0.1, status=None, error=NO_INSPECT, body=b"")
SUMMARIES = {"what": "summaries", "errored": 10, "others": 10, "bytes": 1_000_000}
SAMPLE = {"what": "sample", "view": "sample", "id": "q/1", "epoch": 1, "content": True}


class Machine:
    """A machine without Inspect: it only sends files."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def fetch(self, frame: Frame) -> Reply:
        asked = frame.head["asked"]
        self.sent.append(asked["log"])
        try:
            body = read_log_file(asked["log"], asked["bytes"])
        except Failed as failed:
            return replace(FAILED, error=str(failed))
        return replace(FAILED, status=0, error=None, body=body)


def frame_of(**asked: Any) -> Frame:
    return Frame("logs", {"pid": 1, "start": "s", "asked": {**SUMMARIES, **asked}})


def write_log(path: Path, status: Any) -> str:
    spec = EvalSpec(
        created="2026-11-30T10:00:00+00:00", task="t", model="mock/m",
        dataset=EvalDataset(samples=3), config=EvalConfig(epochs=1),
    )  # fmt: skip
    samples = [EvalSample(id="q/1", epoch=1, input="ask", target="a")]
    write_eval_log(EvalLog(status=status, eval=spec, samples=samples), str(path))
    return str(path)


async def test_logs_and_samples_are_read_from_copies_and_the_rest_says_why(tmp_path: Path) -> None:
    one = write_log(tmp_path / "one.eval", "success")
    two = write_log(tmp_path / "two.json", "started")
    missing = str(tmp_path / "no.eval")
    machine, reader = Machine(), HomeLogs()
    asked = frame_of(logs=[one, missing, two])
    answer = log_answer(await reader.answer(asked, FAILED, machine.fetch))
    assert set(answer.logs) == {one, two, missing}
    first, second, third = (answer.logs[each] for each in (one, two, missing))
    assert isinstance(first, LogSummary)
    assert (first.header.status, first.header.location, first.header.is_copy) == (
        "success", one, True,
    )  # fmt: skip
    assert first.samples is not None
    assert first.samples.counts == LogCounts(total=3, completed=1, abandoned=2)
    assert isinstance(second, LogSummary)
    # The time of a copy says nothing about its log.
    assert (second.header.status, second.header.last_written_at) == ("started", None)
    assert isinstance(third, UnreadLog)
    assert third.reason.startswith(f"{NO_INSPECT}, and the log can't be copied: No such file")

    machine.sent.clear()
    for _ in range(2):
        got = sample_reply(await reader.answer(frame_of(**SAMPLE, log=one), FAILED, machine.fetch))
        assert got.status == 200
        assert json.loads(got.body)["sample_id"] == "q/1"
    assert machine.sent == [one], "its copy is kept for the next sample"


async def test_a_recovery_is_never_done_here(tmp_path: Path) -> None:
    asked = frame_of(what="recover", log=str(tmp_path / "x.eval"))
    assert await HomeLogs().answer(asked, FAILED, Machine().fetch) is FAILED


async def test_a_log_that_hangs_the_reader_costs_only_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_logs, "READ_TIMEOUT_S", 0.2)
    one = write_log(tmp_path / "one.eval", "success")
    begun = time.monotonic()
    answer = await HomeLogs().answer(frame_of(logs=[one]), FAILED, Machine().fetch)
    assert log_answer(answer).logs == {}
    assert time.monotonic() - begun < 30


async def test_a_link_that_breaks_meanwhile_is_an_unread_log(tmp_path: Path) -> None:
    async def fetch(frame: Frame) -> Reply:
        del frame
        raise RequestFailed("the link was lost")

    one = str(tmp_path / "one.eval")
    answer = log_answer(await HomeLogs().answer(frame_of(logs=[one]), FAILED, fetch))
    [found] = answer.logs.values()
    assert isinstance(found, UnreadLog)
    assert "the link was lost" in found.reason


def test_only_plain_logs_of_a_bounded_size_are_copied(tmp_path: Path) -> None:
    log = tmp_path / "a.eval"
    log.write_bytes(b"12345")
    assert read_log_file(str(log), 5) == b"12345"
    link, fifo, folder = (tmp_path / name for name in ("l.eval", "f.eval", "d.eval"))
    link.symlink_to(log)
    os.mkfifo(fifo)
    folder.mkdir()
    odd = ("relative.eval", "s3://b/x.eval", "/etc/passwd", str(link), str(fifo), str(folder))
    for each in odd:
        with pytest.raises(Failed):
            read_log_file(each, 5)
    with pytest.raises(Failed, match="more than"):
        read_log_file(str(log), 4)


def test_the_probe_and_the_link_know_one_sentence() -> None:
    assert NO_INSPECT == log_reading.NO_INSPECT
