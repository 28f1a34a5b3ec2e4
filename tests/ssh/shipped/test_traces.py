"""Inspect's trace file, as the probe reads it: what has begun and not ended."""
# pyright: standard
# The shipped programs have no types.

import json
import os
import shlex
import time
from collections import OrderedDict
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ssh.shipped.common.namespaces import HERE
from ssh.shipped.probe import trace_file
from ssh.shipped.probe import traces as traces_module
from ssh.shipped.probe.commands_in_traces import described
from ssh.shipped.probe.liveness import start_of
from ssh.shipped.probe.trace_file import MAX_POLL_BYTES, TraceFile, open_trace
from ssh.shipped.probe.traces import MAX_NEW_TIES, Traces
from tests.support.usage import cpu_seconds

STARTED = 1_000.0
PROJECT = "inspect-sandboxed_by-i9xhm5a"
COMPOSE = ("docker", "compose", "--ansi", "never", "--progress", "quiet", "--project-name", PROJECT,
           "-f", "/tmp/a folder/compose.yaml")  # fmt: skip
EXEC = (*COMPOSE, "exec", "-T", "--workdir", "/root", "--env", "TOKEN=a secret", "default")


def line(event: str, key: str, **more: Any) -> str:
    row = {"action": "Subprocess", "detail": "sleep 1000", "event": event, "trace_id": key, **more}
    if event == "enter":
        row.setdefault("start_time", STARTED + 1)
    return json.dumps(row) + "\n"


def of_sample(number: int, task: str = "boxed") -> dict[str, Any]:
    return {"task": task, "sample_id": number, "epoch": 1}


class Trace:
    """A trace file, and the probe's reader of it."""

    def __init__(self, path: Path, *before: str) -> None:
        self.path = path
        self.write(*before)
        self.ties: OrderedDict[str, Any] = OrderedDict()
        fd = os.open(path, os.O_RDONLY)
        self.reader = TraceFile(fd, STARTED, self.ties)

    def write(self, *lines: str) -> None:
        with self.path.open("a") as file:
            file.write("".join(lines))

    def rows(self, *lines: str) -> list[dict[str, Any]]:
        self.write(*lines)
        self.reader.poll()
        rows: list[dict[str, Any]] = self.reader.lasting(STARTED + 100, 4.0)
        return rows


@pytest.fixture
def trace(tmp_path: Path) -> Generator[Trace]:
    made = Trace(tmp_path / "trace")
    yield made
    made.reader.close()


def test_an_action_without_an_end_lasts(trace: Trace) -> None:
    exec_ = line("enter", "a", detail=shlex.join((*EXEC, "sleep", "1000")), **of_sample(3))
    [row] = trace.rows(line("enter", "b", **of_sample(4)), exec_, line("exit", "b"))
    assert row == {
        "action": "Subprocess", "what": "docker exec", "words": "sleep 1000",
        "since": STARTED + 1, "count": 1, **of_sample(3),
    }  # fmt: skip
    assert dict(trace.ties) == {PROJECT: ("boxed", 3, 1)}
    for event in ("cancel", "error", "timeout", "exit"):
        assert trace.rows(line("enter", event, **of_sample(5)))[-1]["sample_id"] == 5
        assert trace.rows(line(event, event)) == [row]


def test_an_action_that_has_just_begun_is_not_reported(trace: Trace) -> None:
    assert trace.rows(line("enter", "a", start_time=STARTED + 97)) == []


def test_the_oldest_inner_action_is_reported_with_the_number_of_its_kind(trace: Trace) -> None:
    [row] = trace.rows(
        line("enter", "a", action="Subtask", detail="solve", **of_sample(1)),
        line("enter", "b", detail="make all", start_time=STARTED + 5, **of_sample(1)),
        line("enter", "c", detail="ls", start_time=STARTED + 9, **of_sample(1)),
    )
    assert (row["words"], row["since"], row["count"]) == ("make all", STARTED + 5, 2)


def test_a_command_within_a_tool_call_has_no_words_for_an_agent_may_have_written_them(
    trace: Trace,
) -> None:
    call = line("enter", "t", action="Tool Call", detail="bash(cmd='evil')", **of_sample(1))
    [row] = trace.rows(call)
    assert (row["what"], row["words"]) == ("Tool Call", "bash")
    [row] = trace.rows(line("enter", "a", detail=shlex.join((*EXEC, "evil")), **of_sample(1)))
    assert (row["what"], row["words"]) == ("docker exec", "")


def test_an_action_of_an_earlier_process_with_this_pid_does_not_count(trace: Trace) -> None:
    assert trace.rows(line("enter", "a", start_time=STARTED - 60)) == []


@pytest.mark.parametrize(
    "broken", ['{"action": "Subp', "", "null", "[" * 100_000, '{"trace_id": 1}']
)
def test_after_a_broken_line_earlier_actions_are_not_reported(broken: str, trace: Trace) -> None:
    assert trace.rows(line("enter", "a"))
    assert trace.rows(f"{broken}\n") == []
    assert trace.rows(line("enter", "b"))


def test_a_line_without_an_end_takes_no_memory(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_file, "MAX_TRACE_LINE_BYTES", 1000)
    assert trace.rows(line("enter", "a"))
    assert trace.rows("x" * 5000) == []
    assert len(trace.reader.rest) < 1000
    assert trace.rows("y" * 50 + "\n", line("enter", "b"))


def test_a_trace_that_was_cut_is_read_again(trace: Trace) -> None:
    assert trace.rows(line("enter", "a"), line("enter", "b"))
    trace.path.write_text("")
    [row] = trace.rows(line("enter", "c", detail="true"))
    assert (row["words"], row["count"]) == ("true", 1)


def test_a_huge_trace_costs_little_and_its_end_counts(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    with path.open("wb") as file:
        file.truncate(500 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    before = cpu_seconds(os.getpid())
    trace = Trace(path, line("enter", "a", **of_sample(1)))
    polls = 0
    while not trace.rows():
        polls += 1
        assert polls < 20
        assert len(trace.reader.rest) <= MAX_POLL_BYTES + trace_file.MAX_TRACE_LINE_BYTES
    assert cpu_seconds(os.getpid()) - before < 2
    trace.reader.close()


def test_only_the_trace_that_a_process_itself_has_open_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "inspect_ai" / "traces"
    folder.mkdir(parents=True)
    path = folder / f"trace-{os.getpid()}.log"
    path.write_text("x")
    assert open_trace(os.getpid()) is None
    with path.open("a"):
        path.unlink()  # as Inspect does once there are ten newer ones
        fd = open_trace(os.getpid())
        assert fd is not None
        assert os.read(fd, 10) == b"x"
        os.close(fd)
    os.mkfifo(path)
    fifo = os.open(path, os.O_RDWR)
    assert open_trace(os.getpid()) is None
    os.close(fifo)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ((*EXEC, "sleep", "1000"), ("docker exec", "sleep 1000", PROJECT)),
        ((*EXEC, "timeout", "-k", "5s", "60s", "make"), ("docker exec", "make", PROJECT)),
        ((*EXEC, "bash", "--login", "-c", "ls"), ("docker exec", "bash --login -c ...", PROJECT)),
        ((*EXEC, "a b", "c"), ("docker exec", "", PROJECT)),
        ((*COMPOSE, "up", "--detach"), ("docker compose up", "", PROJECT)),
        (("docker", "compose", "version"), ("docker compose version", "", "")),
        (("docker", "compose", "-p", "web", "up"), ("docker compose up", "", "")),
        (("docker", "inspect", "x"), ("subprocess", "docker inspect x", "")),
        (("python3", "-c", "print"), ("subprocess", "python3 -c ...", "")),
        (("echo", "docker", "compose", "-p"), ("subprocess", "echo docker compose -p", "")),
        (("env", "KEY=1", "run"), ("subprocess", "env ...", "")),
        (("curl", "--token", "sk-1234567890"), ("subprocess", "curl --token ***", "")),
        (("run", "\x1b[31m"), ("subprocess", "run ...", "")),
        (("x" * 100,), ("subprocess", "", "")),
        ((), ("subprocess", "", "")),
    ],
)  # fmt: skip
def test_a_command_is_named_by_its_first_plain_words(
    command: tuple[str, ...], told: tuple[str, str, str]
) -> None:
    assert described(shlex.join(command)) == told


@pytest.mark.parametrize(
    "odd", ["'no end", "a\\ b", '"x', "$(x)", "docker compose '" + "x" * 10**6]
)
def test_an_odd_command_is_reported_without_words(odd: str) -> None:
    assert described(odd)[1] == ""


def test_an_eval_none_of_whose_sandboxes_docker_ever_lists_is_unseen(
    trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = Traces(None)
    key = (os.getpid(), start_of(os.getpid(), None))
    traces.files[key], traces.ties[key] = trace.reader, trace.ties
    up, down = (shlex.join((*COMPOSE, verb)) for verb in ("up", "down"))
    trace.rows(line("enter", "a", detail=up, **of_sample(1)), line("exit", "a", detail=up))
    assert traces.unseen() == []
    monkeypatch.setattr(traces_module, "UNSEEN_AFTER_S", -1.0)
    assert traces.unseen() == [key]
    trace.rows(line("enter", "b", detail=down, **of_sample(1)))
    assert traces.unseen() == []  # it has no sandbox any more
    trace.rows(line("enter", "c", detail=up, **of_sample(1)), line("exit", "c", detail=up))
    traces.forget_removed({"inspect-other-i000001"})
    assert traces.unseen() == [key]
    traces.forget_removed({PROJECT})
    traces.forget_removed(set())
    assert traces.unseen() == []


def test_sandboxes_that_docker_no_longer_lists_are_forgotten() -> None:
    traces = Traces(None)
    here, gone = (os.getpid(), start_of(os.getpid(), None)), (2**22 + 1, "b-1")
    numbers = range(MAX_NEW_TIES + 100)
    for key in (here, gone):
        traces.ties[key] = {f"inspect-a-i{n:06}": ("a", n, 1) for n in numbers}
    listed = {"inspect-a-i000001"}
    traces.forget_removed(listed)
    assert list(traces.ties[gone]) == [*listed]
    assert list(traces.ties[here])[:2] == [*listed, "inspect-a-i000100"]
    assert len(traces.ties[here]) == MAX_NEW_TIES + 1
    traces.forget_removed(set())
    assert gone not in traces.ties
    assert len(traces.ties[here]) == MAX_NEW_TIES


@pytest.mark.parametrize("odd", ["1" + "0" * 400, "1e999", "NaN", "-Infinity", "true", '"1"'])
def test_a_start_time_that_is_not_a_number_hides_no_other_action(odd: str, trace: Trace) -> None:
    began = STARTED + 1
    broken = line("enter", "odd", **of_sample(7)).replace(str(began), odd)
    assert odd in broken
    rows = trace.rows(broken, line("enter", "a", **of_sample(1)))
    assert [row["sample_id"] for row in rows] == [1]


def test_an_epoch_of_many_digits_is_not_about_a_sample(trace: Trace) -> None:
    rows = trace.rows(line("enter", "a", task="t", sample_id=1, epoch=10**300))
    assert [row.get("epoch") for row in rows] == [None]


def test_an_odd_trace_does_not_hide_the_traces_of_other_evals(trace: Trace) -> None:
    trace.rows(line("enter", "a", start_time=time.time() - 60, **of_sample(1)))

    class Odd:
        def poll(self) -> None:
            raise ArithmeticError

        def close(self) -> None:
            pass

    mark = start_of(os.getpid(), None)
    parent = start_of(os.getppid(), None)
    odd = SimpleNamespace(key=(os.getppid(), parent), pid=os.getppid(), started_at=None, place=HERE)
    good = SimpleNamespace(key=(os.getpid(), mark), pid=os.getpid(), started_at=None, place=HERE)
    sent: dict[Any, bytes] = {}
    probe: Any = SimpleNamespace(
        processes=SimpleNamespace(all=lambda: [odd, good]),
        frames=SimpleNamespace(state=lambda key, _kind, _head, body: sent.update({key[1]: body})),
    )
    traces: Any = Traces(probe)
    traces.files = {odd.key: Odd(), good.key: trace.reader}
    traces.looked_at = dict.fromkeys(traces.files, time.monotonic())
    traces.poll()
    assert [row["sample_id"] for row in json.loads(sent[good.key])] == [1]


def test_no_ended_eval_takes_the_sandbox_of_a_living_one() -> None:
    traces = Traces(None)
    here, gone = (os.getpid(), start_of(os.getpid(), None)), (2**22 + 1, "b-1")
    for order in ((here, gone), (gone, here)):
        traces.ties = OrderedDict((key, {PROJECT: ("t", 1, 1)}) for key in order)
        holder = traces.holders()[PROJECT]
        assert (holder[0], holder[-1]) == (os.getpid(), True)


def test_a_task_has_begun_once_the_trace_says_so(trace: Trace) -> None:
    trace.rows(line("enter", "a", action="Model", detail="generate"))
    assert not trace.reader.has_begun
    trace.rows(line("enter", "b", action="Run Task", detail="task: t (m)"))
    trace.rows(line("exit", "b", action="Run Task", detail="task: t (m)"))
    assert trace.reader.has_begun


def test_a_task_has_begun_in_a_trace_that_is_too_long_to_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_file, "MAX_BACKLOG_BYTES", 100)
    trace = Trace(tmp_path / "trace", *[line("enter", f"{each}") for each in range(10)])
    has_begun = trace.reader.has_begun
    trace.reader.close()
    assert has_begun
