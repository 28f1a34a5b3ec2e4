"""Whatever an eval answers, the headless commands print it harmless, and none of it is a crash."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from cli.commands.samples import print_sample, print_samples
from cli.parser.observation import SampleCommand, SamplesCommand
from cli.render.plain import print_error, print_lines
from core.errors import RequestFailed
from core.events import ContentRevealed, Event
from core.fleet import Fleet
from core.ids import ProcessKey
from core.ports import Reply
from tests.support.fleets import NOW, fleet_after, link, named, process_seen, task_row, tasks_seen

EVIL: tuple[Any, ...] = (
    "\x1b]52;c;x\x07", "\u202e\x9b31m", "\r\n\x00", None, True, -1, 1e308, 10**30, 10**400,
    float("nan"), float("inf"), [], {}, [1, "\x1b"], {"\x1b": "\x1b"}, "x" * 1000,
    {"type": "\x1b", "detail": ["\x1b"], "started_at": float("nan")},
)  # fmt: skip
NAMES = (
    "sample_id", "epoch", "status", "activity", "turn_count", "message_count", "total_tokens",
    "total_time", "retries", "scores", "error", "last_activity_at", "timestamp", "event", "model",
    "function", "pending", "stop_reason", "tokens", "completion", "arguments", "result", "data",
    "index", "role", "tool_calls", "content", "type", "size", "value",
)  # fmt: skip


async def no_journal(event: ContentRevealed) -> None:
    del event


class Answering:
    """A desk whose one eval answers everything alike."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.fleet: Fleet = fleet_after(named(), link(), process_seen(), tasks_seen(task_row()))
        self._answer = answer

    def now(self) -> float:
        return NOW

    async def first_poll(self, timeout: float) -> bool:
        del timeout
        return True

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        del listener
        return lambda: None

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        del process, path, deadline
        body = json.dumps(self._answer).encode()
        return Reply(status=200, body=body, error=None, at=NOW, took=0.1)


def answers() -> Iterator[dict[str, Any]]:
    row = dict.fromkeys(NAMES, 1)
    for evil in EVIL:
        rows = [{**row, name: evil} for name in NAMES]
        lists = {"samples": rows, "events": rows, "messages": rows, "done": True}
        yield {**lists, "as_of": evil, "counts": {"running": evil, "\x1b": 1}, "store": {"k": row}}
        yield {**lists, "as_of": 5.0, "counts": evil, "store": evil, "next": evil}
        yield {**lists, "as_of": 5.0, "store": {"\x1b": {**row, "type": evil, "value": evil}}}


async def test_no_answer_acts_on_the_terminal_or_is_a_crash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for answer in answers():
        desk: Any = Answering(answer)
        [task] = desk.fleet.tasks
        asked: dict[str, Any] = {"task": task.task_id, "timeout": 1.0, "as_json": False}
        await print_samples(desk, SamplesCommand(**asked, status=None, all_rows=False))
        for part in ("show", "events", "messages", "store"):
            one: dict[str, Any] = {"sample_id": "s", "epoch": 1, "part": part}
            command = SampleCommand(**asked, **one, content=True)
            await print_sample(desk, command, keep=no_journal)
    out = capsys.readouterr().out
    assert not {char for char in out if char != "\n" and not char.isprintable()}


async def test_a_strict_parser_reads_the_json_of_every_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for answer in answers():
        desk: Any = Answering(answer)
        [task] = desk.fleet.tasks
        asked: dict[str, Any] = {"task": task.task_id, "timeout": 1.0, "as_json": True}
        await print_samples(desk, SamplesCommand(**asked, status=None, all_rows=False))
        msgspec.json.decode(capsys.readouterr().out)
        for part in ("show", "events", "messages", "store"):
            one: dict[str, Any] = {"sample_id": "s", "epoch": 1, "part": part}
            await print_sample(desk, SampleCommand(**asked, **one, content=True), keep=no_journal)
            msgspec.json.decode(capsys.readouterr().out)


def test_printed_text_is_made_harmless_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(["harmless · 漢字", "\x1b[2J\u202e\x9b\r"])
    print_error(RequestFailed("\x1b]52;c;x\x07", status=None), as_json=False)
    printed = capsys.readouterr()
    assert printed.out == "harmless · 漢字\n␛[2J⟦202E⟧⟦009B⟧␍\n"
    assert printed.err == "evalroom: ␛]52;c;x␇\n"


async def test_a_sample_is_described_in_words_for_people(
    capsys: pytest.CaptureFixture[str],
) -> None:
    activity = {"type": "tool", "detail": "bash", "started_at": NOW + 50.0}
    row = {"sample_id": 1, "status": "running", "started_at": NOW, "total_time": 62.0}
    answer: dict[str, Any] = {
        "error_retries": [],
        **row,
        "activity": activity,
        "total_tokens": 380,
        "scores": {"f1": 0.5},
        "limit": None,
    }
    desk: Any = Answering(answer)
    command = SampleCommand(
        task="t1", sample_id="1", epoch=1, part="show", content=False, timeout=1.0
    )
    await print_sample(desk, command, keep=no_journal)
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["activity"] == "tool bash 0:12"
    assert lines["total_time"] == "1:02"
    assert lines["started_at"].count(":") == 2
    assert lines["total_tokens"] == "380"
    assert lines["scores"] == "f1=0.5"
    assert lines["limit"] == lines["error_retries"] == "·"
