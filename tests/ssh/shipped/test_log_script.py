"""The log script reads many logs by one start of Inspect, bounded, whatever they contain."""
# pyright: standard
# The shipped programs have no types.

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalResults,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ChatMessageUser, ModelOutput
from inspect_ai.scorer import Score

from core.ctl.log_answers import log_reading
from core.model.log_summary import LogReading, LogSummary, UnreadLog
from ssh.shipped.common.failures import Absent
from ssh.shipped.common.log_reading import read_with_first, run_log_script
from tests.support.evals import Evals

pytestmark = pytest.mark.xdist_group("logs_of_the_script")  # they are written once
MANY = 3_000
LONG = "x" * 1_000_000


def error(message: str) -> EvalError:
    return EvalError(message=message, traceback=f"Traceback\n{message}", traceback_ansi="")


def log_of(samples: list[EvalSample], planned: int) -> EvalLog:
    spec = EvalSpec(
        created="2026-11-30T10:00:00+00:00",
        task="t",
        dataset=EvalDataset(samples=planned),
        model="mock/m",
        config=EvalConfig(epochs=1, time_limit=90),
    )
    results = EvalResults(total_samples=planned, completed_samples=len(samples))
    return EvalLog(status="success", eval=spec, results=results, samples=samples)


def sample(sample_id: str | int, number: int = 0, **more: Any) -> EvalSample:
    at = f"2026-11-30T10:{number // 60 % 60:02d}:{number % 60:02d}+00:00"
    more.setdefault("input", "q")
    return EvalSample(
        id=sample_id, epoch=1, target="a", output=ModelOutput(), completed_at=at, **more
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    hostile = [
        sample("q/../1", error=error("ValueError('first \\x1b[31m\\nsecond')")),
        sample(7, scores={"s": Score(value=float("nan")), "long": Score(value=LONG)}),
        sample("gone", error=error("CancelledError('Cancelled via cancel scope 7f')")),
        sample("big", messages=[ChatMessageUser(content=LONG)], store={"k": LONG}),
        sample("long", error=error(f"RuntimeError('{LONG}')")),
    ]
    write_eval_log(log_of(hostile, 9), str(folder / "hostile.eval"))
    write_eval_log(log_of(hostile[:3], 3), str(folder / "hostile.json"))
    many = [
        sample(at, at, error=error(f"ValueError('item {at}')") if at % 2 else None)
        for at in range(MANY)
    ]
    write_eval_log(log_of(many, MANY), str(folder / "many.eval"))
    (folder / "junk.eval").write_bytes(b"PK\x03\x04 not a zip")
    (folder / "junk.json").write_text("{")
    return folder


def summaries(paths: list[str], *, rows_bytes: int = 8 << 20) -> dict[str, Any]:
    asked = {"what": "summaries", "logs": paths, "errored": 1_000, "others": 200}
    answers, why = run_log_script([sys.executable], {**asked, "bytes": rows_bytes}, 150)
    assert why is None
    return {each["log"]: log_reading(each) for each in answers}


def summary_of(location: str, data_dir: Path) -> LogReading:
    asked = {"what": "headers", "logs": [location], "bytes": 8 << 20}
    [answer], why = read_with_first([sys.executable], asked, 150, {"XDG_DATA_HOME": str(data_dir)})
    assert why is None
    return log_reading(answer)


def view(log: Path, name: str, sample_id: str, *, content: bool) -> dict[str, Any]:
    asked = {"what": "sample", "log": str(log), "view": name, "id": sample_id, "epoch": 1}
    more: dict[str, Any] = {
        "content": content,
        "since": None,
        "types": None,
        "tail": None,
        "keys": [],
    }
    [answer], why = run_log_script([sys.executable], {**asked, **more, "bytes": 8 << 20}, 100)
    assert why is None
    body: dict[str, Any] = json.loads(answer["body"])
    return {"status": answer["status"], **body}


def test_the_buffer_of_a_killed_eval_is_reported(evals: Evals) -> None:
    one = evals.start(
        "quiet", args={"samples": 2_000, "seconds": 0.3},
        options=("--max-samples=2", "--log-buffer=5000"),
    ).wait_ready()  # fmt: skip
    one.wait_rows(lambda rows: rows[0]["samples"]["completed"] >= 3)
    location = one.task()["log_location"]
    living = summary_of(location, one.data_dir)
    assert isinstance(living, LogSummary)
    assert living.header.buffer is None
    one.kill()
    dead = summary_of(location, one.data_dir)
    assert isinstance(dead, LogSummary)
    assert dead.header.status == "started"
    assert dead.header.buffer is not None
    assert dead.header.buffer.completed >= 3


def test_fifty_logs_of_any_kind_are_read_by_one_start(logs: Path) -> None:
    paths = [
        str(logs / name) for name in ("hostile.eval", "hostile.json", "junk.eval", "junk.json")
    ]
    copies = []
    for number in range(45):
        copy = logs / f"copy{number}.eval"
        copy.write_bytes((logs / "hostile.eval").read_bytes())
        copies.append(str(copy))
    began = time.monotonic()
    found = summaries([*paths, str(logs / "no.eval"), *copies])
    assert time.monotonic() - began < 120
    assert list(found) == [*paths, str(logs / "no.eval"), *copies]
    assert all(isinstance(found[each], UnreadLog) for each in (*paths[2:], str(logs / "no.eval")))
    for each in (paths[0], *copies):
        reading = found[each]
        assert isinstance(reading, LogSummary)
        assert reading.samples is not None
        counts = reading.samples.counts
        assert (counts.total, counts.completed, counts.errored) == (9, 2, 2)
        assert (counts.cancelled, counts.abandoned, counts.scored) == (1, 4, 1)
        assert {group.example[0] for group in reading.samples.errors} == {"q/../1", "long"}
        assert reading.header.time_limit == 90
        assert len(repr(reading)) < 20_000


def test_a_log_of_many_samples_is_counted_whole_and_listed_in_part(logs: Path) -> None:
    path = str(logs / "many.eval")
    reading = summaries([path])[path]
    assert isinstance(reading, LogSummary)
    assert reading.samples is not None
    assert (reading.samples.counts.completed, reading.samples.counts.errored) == (1_500, 1_500)
    assert len(reading.samples.rows) == 1_200
    assert reading.samples.cut == MANY - 1_200
    assert [(group.cause, group.count) for group in reading.samples.errors] == [
        ("ValueError: item N", 1_500)
    ]
    reading = summaries([path], rows_bytes=10_000)[path]
    assert isinstance(reading, LogSummary)
    assert reading.samples is not None
    assert (reading.samples.rows, reading.samples.cut) == ((), MANY)


def test_one_sample_is_cut_where_it_is_long_and_says_where(logs: Path) -> None:
    log = logs / "hostile.eval"
    [message] = view(log, "messages", "big", content=True)["messages"]
    assert message["content"].endswith("(cut at 20000 of 1000000 characters)")
    assert "content" not in view(log, "messages", "big", content=False)["messages"][0]
    entry = view(log, "store", "big", content=True)["store"]["k"]
    assert entry["size"] == 1_000_002
    assert "cut at 20000" in entry["value"]
    detail = view(log, "sample", "q/../1", content=True)
    assert (detail["status"], detail["error"]["message"][:10]) == ("error", "ValueError")
    assert view(log, "sample", "7", content=False)["sample_id"] == 7
    assert view(log, "sample", "nobody", content=False)["status"] == 404


def test_only_a_python_by_its_name_is_started(tmp_path: Path) -> None:
    impostor = tmp_path / "eval-runner"
    impostor.write_text("#!/bin/sh\ntouch started\n")
    impostor.chmod(0o755)
    asked = {"what": "headers", "logs": [], "errored": 1, "others": 1, "bytes": 1}
    with pytest.raises(Absent):
        read_with_first([str(impostor), "python3"], asked, 10)
    assert not (tmp_path / "started").exists()
