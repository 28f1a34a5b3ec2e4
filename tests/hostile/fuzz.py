"""Fuzzers of everything that a machine, an eval, a recording or a file hands to evalroom.

`python -m tests.hostile.fuzz --seconds 600` runs each target for so long; `--seed` repeats a run.
A target takes bytes. It may refuse them with an error of evalroom; any other error is a fault.
What is found here becomes a test of its own.
"""
# pyright: standard
# The shipped programs have no types.

import argparse
import contextlib
import json
import random
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.config.file import check_config
from core.ctl import (
    config_envelopes,
    decode,
    envelopes,
    error_causes,
    log_answers,
    sample_details,
)
from core.errors import EvalroomError
from core.event_codec import event_of, line_of
from core.frames import Splitter
from core.ids import MachineName
from core.launch.preflight.survey_facts import parse_survey
from core.launch.spec.spec_reader import check_spec
from core.launch.spec.templates import BUILT_IN_TEMPLATES
from core.program_answers import AnswerReader, objects_in
from core.watch.machine_facts import read_facts, read_hello
from core.watch.process_list import process_reports
from ssh.shipped.common.reservations import is_same_process
from ssh.shipped.common.script_answers import answers_in
from ssh.shipped.probe.records import checked_record
from tests.support.fleets import (
    facts,
    link,
    named,
    process_gone,
    process_seen,
    task_row,
    tasks_seen,
)
from tests.support.tree import ROOT
from tests.support.waiting import turns_for
from tui.keys.table import KEYS_BY_NAME

Target = Callable[[bytes], object]
NONCE = "0123456789abcdef"
REFUSALS = (EvalroomError,)
"""What a target may answer to bytes that it does not take."""

TASK = {
    "task_id": "t1", "eval_id": "e1", "task": "gpqa", "model": "m", "status": "running",
    "samples": {"total": 3, "completed": 1, "errored": 0}, "total_tokens": 12, "as_of": 1.5,
    "metrics": [{"scorer": "s", "name": "accuracy", "value": 0.5}],
}  # fmt: skip
SAMPLE = {
    "id": "a", "epoch": 1, "status": "running", "total_time": 1.0, "total_tokens": 4,
    "activity": {"kind": "tool", "calls": [{"id": "c", "function": "bash", "started_at": 1.0}]},
    "scores": {"s": 1.0}, "error": None,
}  # fmt: skip
RECORD = {"pid": 4, "run_id": "r", "started_at": 1.0, "api_version": 8}
PROCESS = {
    "pid": 4, "start": "abcdef01-3", "state": "live", "argv": ["inspect", "eval"], "cwd": "/x",
    "record": RECORD,
}  # fmt: skip


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _frames(data: bytes) -> None:
    splitter = Splitter()
    for at in range(0, len(data), 97):
        for frame in splitter.feed(data[at : at + 97]):
            assert isinstance(frame.kind, str)
            read_hello(frame.head, 1.0)


def _answers(data: bytes) -> None:
    for read in (
        envelopes.task_rows, envelopes.sample_rows, envelopes.score_metrics,
        error_causes.read_causes, config_envelopes.config_view, config_envelopes.throughput,
        read_facts,
    ):  # fmt: skip
        with contextlib.suppress(*REFUSALS):
            read(data)
    for content in (False, True):
        for read_more in (
            sample_details.sample_detail, sample_details.event_page, sample_details.messages,
            sample_details.store,
        ):  # fmt: skip
            with contextlib.suppress(*REFUSALS):
                read_more(data, content=content)


def _objects(data: bytes) -> None:
    """Answers that are objects: of the survey, of the log script, of the list of processes."""
    with contextlib.suppress(*REFUSALS):
        answer = decode.parse_object(data)
        for read in (parse_survey, log_answers.log_reading, log_answers.log_samples):
            with contextlib.suppress(*REFUSALS):
                read(answer)
    with contextlib.suppress(*REFUSALS):
        process_reports(MachineName("m"), data, at=1.0)
    reader = AnswerReader(10_000, nonce=NONCE)
    with contextlib.suppress(*REFUSALS):
        for at in range(0, len(data), 61):
            reader.feed(data[at : at + 61])
    text = data.decode("utf-8", "replace")
    list(objects_in(text, "pid"))
    answers_in(text, NONCE)


def _records(data: bytes) -> None:
    """Files that an eval or another account left on a machine, and lines of a recording."""
    with contextlib.suppress(ValueError, RecursionError):
        record: Any = json.loads(data.decode("utf-8"))
        with contextlib.suppress(ValueError):
            checked_record(record)
        if isinstance(record, dict):
            for pid, start in record.items():
                is_same_process(pid, start)
    with contextlib.suppress(ValueError, *REFUSALS):
        event = event_of(data.decode("utf-8", "replace"))
        assert event_of(line_of(event)) == event or "nan" in line_of(event).lower()


def _specs(data: bytes) -> None:
    spec, wrong = check_spec(data.decode("utf-8", "replace"), "s.toml")
    assert spec is not None or wrong


def _config(data: bytes) -> None:
    config, wrong = check_config(
        data.decode("utf-8", "replace"), Path("/c/config.toml"), actions=KEYS_BY_NAME
    )
    assert config.machines or wrong


def _config_example() -> bytes:
    text = (ROOT / "config.example.toml").read_text()
    return "\n".join(line.removeprefix("# ") for line in text.splitlines()).encode()


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """A target, and what it takes.

    Attributes:
        target: Reads bytes.
        seeds: Bytes that it takes, which are changed.
    """

    target: Target
    seeds: Sequence[bytes]


def targets() -> Mapping[str, Fuzzed]:
    """Return all targets by name."""
    frame = b'{"v":1,"kind":"state","pid":4,"start":"x","name":"tasks","body":2}\n[]'
    hello = _json({"v": 1, "kind": "hello", "pid": 1, "at": 2.0, "host": "h", "body": 0}) + b"\n"
    part = b'{"v":1,"kind":"reply","id":1,"part":0,"parts":2,"body":3}\nabc'
    answer = f"evalroom-answer {NONCE} 10 {{'pid': 4}} evalroom-end\n".replace("'", '"').encode()
    happened = (named(), link(), facts(), process_seen(), tasks_seen(task_row()), process_gone())
    events = [line_of(each).encode() for each in happened]
    lock = _json({"v": 1, "run": "r", "pids": {"1": "x-1", "999999": 3}, "gpu": 0})
    record = _json({**RECORD, "socket_path": "/x/4.sock"})
    config = [
        _config_example(),
        b'[[machines]]\nname = "h"\nlink = "command"\ncommand = ["ssh", "h"]\n',
    ]
    return {
        "frames": Fuzzed(_frames, [frame, hello, part, frame + hello + part]),
        "answers": Fuzzed(
            _answers,
            [_json([TASK]), _json({"tasks": [TASK]}), _json({"samples": [SAMPLE], "as_of": 2}),
             _json(SAMPLE), _json({"events": [{"event": "model", "timestamp": 1}], "cursor": "c"}),
             _json({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
             _json({"limits": [{"name": "max_samples", "value": 4}]}),
             _json({"gpus": [{"index": 0, "uuid": "GPU-a"}], "memory": {"total": 1}})],
        ),
        "objects": Fuzzed(
            _objects,
            [answer, _json([PROCESS]),
             _json({"logs": [{"log": "/l", "header": {"status": "success"}, "samples": []}]}),
             _json({"reservations": {"state": "ok", "value": {"folder": "/x", "held": []}}})],
        ),
        "records": Fuzzed(_records, [record, lock, *events]),
        "specs": Fuzzed(_specs, [each.text.encode() for each in BUILT_IN_TEMPLATES]),
        "config": Fuzzed(_config, config),
    }  # fmt: skip


PIECES = (
    b"null", b"true", b"-1", b"1e999", b"NaN", b"-Infinity", b"9" * 400, b'""', b"[]", b"{}",
    b'"\\ud800"', b'"\\u0000"', b'"\\u202e\\u001b[2J"', b"\x00", b"\xff\xfe", b"\xc3", b"[" * 300,
    b'{"a":' * 200, b"\n", b"\r\n", b'"' + b"x" * 5000 + b'"', b"0x10", b"1_000", b"'''", b'"""',
    b"1979-05-27", b".", b"=", b"]]", b"[[machines]]\n", b'"pid"', b'"at"', b'"samples"', b"0.0",
    b"18446744073709551616", b"$(touch HIT)", b"../../etc/passwd", b'"' + b"\\" * 99 + b'"',
)  # fmt: skip
"""Pieces that are put into the bytes of a seed."""


def changed(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds, changed in a few places."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(0, 6)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[at:at] = chance.choice(PIECES)
            case 1:
                del data[at : at + chance.randint(1, 40)]
            case 2 if data:
                data[at % len(data)] = chance.randrange(256)
            case 3:
                start = chance.randrange(len(data) + 1)
                data[at:at] = data[start : start + chance.randint(1, 200)]
            case 4:
                data[at : at + chance.randint(1, 12)] = chance.choice(PIECES)
            case _:
                other = chance.choice(seeds)
                data[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(data[:200_000])


class Found(AssertionError):
    """A fault: bytes that a target neither takes nor refuses."""


def fuzz(
    fuzzed: Fuzzed, seed: int, *, tries: int | None = None, seconds: float | None = None
) -> int:
    """Give changed seeds to a target; return how many.

    Args:
        fuzzed: The target and its seeds.
        seed: Repeats a run.
        tries: How many at most; None: no such limit.
        seconds: How long at most, if there is no number of tries.

    Raises:
        Found: Bytes raised what is not a refusal.
    """
    chance, count = random.Random(seed), 0
    for _ in range(tries) if tries is not None else turns_for(seconds or 0.0):
        data = changed(chance, fuzzed.seeds)
        count += 1
        try:
            fuzzed.target(data)
        except REFUSALS:
            continue
        except Exception as error:
            place = traceback.format_exc(limit=-3)
            raise Found(f"seed {seed}, try {count}: {data[:2000]!r}\n{place}") from error
    return count


def main(words: Sequence[str] | None = None) -> int:
    """Run the fuzzers; return how many found a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=600.0, help="for each target")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run")
    parser.add_argument("targets", nargs="*", help="their names; default: all")
    given = parser.parse_args(words)
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    faults = 0
    for name, fuzzed in targets().items():
        if given.targets and name not in given.targets:
            continue
        try:
            count = fuzz(fuzzed, seed, seconds=given.seconds)
        except Found as found:
            faults += 1
            print(f"{name}: {found}", flush=True)
        else:
            print(f"{name}: {count} tries with seed {seed}, no fault", flush=True)
    return faults


if __name__ == "__main__":
    sys.exit(main())
