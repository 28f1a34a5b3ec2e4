"""A sample whose eval was started with an ACP server: the command that steers it."""

from collections.abc import Sequence
from typing import Any

import pytest

from core.ctl.acp import can_be_steered, steering_line, steering_words
from core.ids import MachineName, SampleKey
from tests.support.fleets import (
    H1,
    fleet_after,
    link,
    named,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.rooms import FakeRoom, app_on, screen_text, services_on, shows
from tui.controllers.attach import AttachController
from tui.services import AttachSettings

KEY = SampleKey(task_key("t1"), 1, 1)
ACP = ("python3", "/usr/bin/inspect", "eval-set", "ctf.py", "--acp-server=true", "--json")


def _room(argv: Sequence[str], **more: Any) -> FakeRoom:
    seen = process_seen(argv=tuple(argv), **more)
    return FakeRoom(fleet_after(named(), link(), seen, tasks_seen(task_row()),
                                samples_seen(sample(1))))  # fmt: skip


@pytest.mark.parametrize(
    ("words", "can"),
    [
        (("--acp-server=true",), True),
        (("--acp-server",), True),
        (("--acp-server", "4444"), True),
        (("--acp-server=false",), False),
        (("--acp-servers=true", "-T", "--x=--acp-server"), False),
        ((), False),
    ],
)
def test_whether_a_sample_can_be_steered_is_in_the_words_of_its_process(
    words: tuple[str, ...], can: bool
) -> None:
    (process,) = _room(("inspect", "eval", *words)).fleet.processes.values()
    assert can_be_steered(process) == can


def test_the_command_names_process_task_sample_and_epoch() -> None:
    room = _room(ACP, data_dir="/d d", python="/v/python", run_id="r1")
    (process,) = room.fleet.processes.values()
    key = SampleKey(KEY.task, "-it's\0", 2)
    assert steering_words(process, key, "x/ctf") == (
        "env", "XDG_DATA_HOME=/d d", "/v/python", "-m", "inspect_ai", "acp", "--eval-id=r1",
        "--task-id=x/ctf", "--sample-id=-it's", "--epoch=2",
    )  # fmt: skip
    assert "'XDG_DATA_HOME=/d d'" in steering_line(process, key, "x/ctf")
    (bare,) = _room(ACP).fleet.processes.values()
    assert steering_words(bare, KEY, "t")[:3] == ("inspect", "acp", "--task-id=t")


async def test_a_sample_that_can_be_steered_shows_how_and_opens_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[tuple[MachineName, tuple[str, ...]]] = []

    def remember(
        _: AttachController, machine: MachineName, words: Sequence[str], **more: str
    ) -> None:
        del more
        opened.append((machine, tuple(words)))

    monkeypatch.setattr(AttachController, "open", remember)
    room, settings = _room(ACP, run_id="r1"), AttachSettings(machines=(), way="window")
    app = app_on(room, services=services_on(room, attach=settings))
    async with app.run_test(size=(140, 40)) as pilot:
        app.go(KEY)
        await shows(pilot, "inspect acp --eval-id=r1")
        await shows(pilot, "t steer")
        await pilot.press("t")
        await pilot.pause()
        (process,) = room.fleet.processes.values()
        words = steering_words(process, KEY, "gdm_intercode_ctf")
        assert opened == [(H1, words)]


async def test_another_sample_says_what_it_lacks() -> None:
    app = app_on(_room(("inspect", "eval", "ctf.py")))
    async with app.run_test(size=(140, 40), notifications=True) as pilot:
        app.go(KEY)
        await shows(pilot, "Sample 1 epoch 1")
        assert "steer" not in screen_text(app)
        await pilot.press("t")
        await shows(pilot, "This eval has no ACP server")
