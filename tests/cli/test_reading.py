"""A bad answer of an eval, as headless commands report it: what it was, and what to do."""

from collections.abc import Callable
from typing import Any

import pytest

from cli.commands.samples import print_sample, print_samples
from cli.parser.observation import SampleCommand, SamplesCommand
from core.errors import NotThere, RequestFailed, TooLarge, Unsupported
from core.events import ContentRevealed, Event
from core.fleet import Fleet
from core.ids import ProcessKey
from core.ports import Reply
from tests.support.fleets import NOW, fleet_after, link, named, process_seen, task_row, tasks_seen

PYTHON = "/opt/my venv/bin/python"


async def no_journal(event: ContentRevealed) -> None:
    del event


class Refusing:
    """A desk whose one eval refuses everything alike."""

    def __init__(self, status: int | None, body: bytes, error: str | None = None) -> None:
        process = process_seen(python=PYTHON)
        self.fleet: Fleet = fleet_after(named(), link(), process, tasks_seen(task_row()))
        self._reply = Reply(status=status, body=body, error=error, at=NOW, took=0.1)

    def now(self) -> float:
        return NOW

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        del listener
        return lambda: None

    async def first_poll(self, timeout: float) -> bool:
        del timeout
        return True

    async def read(self, process: ProcessKey, path: str, *, deadline: float = 15.0) -> Reply:
        del process, path, deadline
        return self._reply


async def ask(desk: Any, part: str) -> None:
    asked: dict[str, Any] = {"task": "t1", "timeout": 1.0, "as_json": True}
    if part == "samples":
        await print_samples(desk, SamplesCommand(**asked, status=None, all_rows=False))
    else:
        command = SampleCommand(**asked, sample_id="s", epoch=1, part=part, content=False)
        await print_sample(desk, command, keep=no_journal)


@pytest.mark.parametrize(
    ("part", "first"),
    [
        ("samples", "0.3.246"),
        ("show", "0.3.246"),
        ("events", "0.3.246"),
        ("messages", "0.3.250"),
        ("store", "0.3.265"),
    ],
)
async def test_an_old_inspect_is_reported_with_the_upgrade_of_its_own_python(
    part: str, first: str
) -> None:
    with pytest.raises(Unsupported) as found:
        await ask(Refusing(404, b'{"detail":"Not Found"}'), part)
    assert found.value.since == first
    assert f"'{PYTHON}' -m pip install -U 'inspect-ai>={first}'" in found.value.advice


async def test_a_sample_that_is_not_there_is_reported_with_where_to_look() -> None:
    with pytest.raises(NotThere, match="sample 9") as found:
        await ask(Refusing(404, b'{"error":"sample 9 (epoch 1) not found"}'), "events")
    assert found.value.advice == "see: evalroom samples h100-1:t1 --all"


@pytest.mark.parametrize(
    ("status", "body", "error", "wanted", "says"),
    [
        (None, b"", "too large", TooLarge, "32 MiB"),
        (400, b'{"error":"unknown status"}', None, RequestFailed, "unknown status"),
        (None, b"", "no answer in 15 s", RequestFailed, "no answer in 15 s"),
    ],
)
async def test_other_refusals_are_reported_as_what_they_are(
    status: int | None, body: bytes, error: str | None, wanted: type[RequestFailed], says: str
) -> None:
    with pytest.raises(wanted, match=says) as found:
        await ask(Refusing(status, body, error), "messages")
    assert type(found.value) is wanted
