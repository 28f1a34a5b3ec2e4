"""What the fuzzers feed to programs on a machine: what an eval, a tool or an account left there."""
# pyright: standard
# The shipped programs have no types.

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ssh.shipped.common.reservations import is_same_process
from ssh.shipped.common.units import csv_number, size_in_bytes
from ssh.shipped.launcher.log_folder_locks import why_held
from ssh.shipped.probe.changes import clocks_pattern, top_as_of, without_clocks
from ssh.shipped.probe.commands_in_traces import described
from ssh.shipped.probe.docker import is_listed, json_lines, project_of, time_of
from ssh.shipped.probe.frames import compact
from ssh.shipped.probe.read_costs import ReadCosts
from ssh.shipped.probe.trace_file import TraceFile
from ssh.shipped.probe.turns import decoded, mark_in

Target = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """A target, and what it takes.

    Attributes:
        target: Reads bytes.
        seeds: Bytes that it takes, which are changed.
    """

    target: Target
    seeds: Sequence[bytes]


def _traces(data: bytes) -> None:
    """A trace file of an eval."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        ties: dict[str, Any] = {}
        trace = TraceFile(os.dup(file.fileno()), 1.0, ties)
        try:
            trace.poll()
            json.loads(compact(trace.lasting(2_000.0, 4.0)))
        finally:
            trace.close()
    described(data.decode("utf-8", "replace"))


def _polls(data: bytes) -> None:
    """The file of the polls of an eval."""
    mark = mark_in(data[:64])
    costs = ReadCosts.from_dict(decoded(data), 100.0)
    for kind in [*costs.kinds, "new"]:
        round(costs.usual(kind))
        costs.answered(kind, 0.0 if mark is None else max(0.0, 100.0 - mark[0]), 101.0)
        assert costs.due(kind) < 1e7
    json.dumps(costs.as_dict(), allow_nan=False)


def _tools(data: bytes) -> None:
    """The output of docker, nvidia-smi and others."""
    for row in json_lines(data):
        is_listed(row)
        project_of(row)
        time_of(str(row.get("created", "")))
        size_in_bytes(str(row.get("MemUsage", "")).partition("/")[0])
    text = data.decode("utf-8", "replace")
    for cell in text.split(",")[:50]:
        csv_number(cell)
        size_in_bytes(cell)
    top_as_of(data)
    without_clocks(clocks_pattern(["as_of", "created"]), data)


def _locks(data: bytes) -> None:
    """Files that name who holds a GPU or a log folder."""
    with contextlib.suppress(ValueError, RecursionError):
        record: Any = json.loads(data.decode("utf-8"))
        if isinstance(record, dict):
            why_held(record)
            for pid, start in record.items():
                is_same_process(pid, start)


def probe_targets() -> Mapping[str, Fuzzed]:
    """Return the targets by name."""
    enter = {
        "action": "Subprocess", "event": "enter", "trace_id": "a", "start_time": 5.0, "task": "t",
        "detail": "docker compose --project-name inspect-t-iabcdef exec default sleep 9",
        "sample_id": 1, "epoch": 1,
    }  # fmt: skip
    rows = [enter, {**enter, "action": "Tool Call", "trace_id": "b"}, {**enter, "event": "exit"}]
    trace = "".join(json.dumps(row) + "\n" for row in rows).encode()
    costs = {"kinds": {"a.b": [[1.0, 2.0], 101.0, 3.0, 2.0, 1]}, "quick": 1.0, "slow": 2.0}
    docker = {
        "id": "abc", "name": "x", "status": "Up", "project": "inspect-t-iabcdef",
        "created": "2026-11-30 10:00:00 +0000 UTC", "MemUsage": "1.5GiB / 3GiB", "as_of": 1.5,
    }  # fmt: skip
    lock = {"run": "r", "host": os.uname().nodename, "boot": "b", "pid": 1, "start": "x-1",
            "folder": "/nowhere", "space": "pid:[1]"}  # fmt: skip
    return {
        "traces": Fuzzed(_traces, [trace]),
        "polls": Fuzzed(_polls, [json.dumps(costs).encode(), b'[5.5, "a.b"]']),
        "tools": Fuzzed(_tools, [json.dumps(docker).encode() + b"\n", b"0, GPU-a, H100, 5 %, 3"]),
        "locks": Fuzzed(_locks, [json.dumps(lock).encode()]),
    }
