"""The processes that the probe lists: some of any number, each with the state of its channel."""
# pyright: standard
# The shipped programs have no types.

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ssh.shipped.probe.process_list import LONGEST_START_S, NEW_S, ProcessList


def test_processes_beyond_the_limit_are_counted_and_never_take_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr("ssh.shipped.probe.process_list.MAX_PROCESSES", 3)
    probe = SimpleNamespace(
        frames=SimpleNamespace(state=lambda *frame: sent.append(frame)), second_part=None
    )
    processes = ProcessList(probe)
    monkeypatch.setattr(processes, "find_dead", list)

    def add(key: tuple[int, str], _: Any) -> Any:
        process = SimpleNamespace(
            key=key, is_contained=False, by_name=True, ended_at=None, socket_path=None,
            started_at=None, opted_out=False, channel="new", record_gone_at=None,
            row=lambda: {"pid": key[0], "start": key[1]},
        )  # fmt: skip
        processes.by_key[key] = process
        return process

    monkeypatch.setattr(processes, "add", add)
    each = SimpleNamespace(place="here", by_name=True, is_cut_off=False, record=None)

    def update(*pids: int) -> tuple[list[int], int]:
        processes.update({(pid, "s"): each for pid in pids})
        _, _, head, body = sent[-1]
        return [row["pid"] for row in json.loads(body)], head["left_out"]

    assert update(7, 8) == ([7, 8], 0)
    assert update(1, 2, 3, 7, 8) == ([7, 8, 1], 2)
    assert update(1, 7, 8) == ([7, 8, 1], 0)


@pytest.mark.parametrize(
    ("age", "has_begun", "opted_out", "channel"),
    [
        (NEW_S - 5, False, False, "new"),
        (NEW_S + 5, False, False, "new"),
        (LONGEST_START_S - 5, False, False, "new"),
        (LONGEST_START_S + 5, False, False, "none"),
        (NEW_S - 5, True, False, "new"),
        (NEW_S + 5, True, False, "none"),
        (NEW_S + 5, False, True, "off"),
    ],
)
def test_an_eval_that_loads_for_long_is_new_until_a_task_has_begun(
    age: float, has_begun: bool, opted_out: bool, channel: str
) -> None:
    traces = SimpleNamespace(has_begun=lambda key: has_begun and key == (7, "s"))
    probe = SimpleNamespace(second_part=SimpleNamespace(traces=traces))
    processes = ProcessList(probe)
    now = 10_000.0
    process = SimpleNamespace(key=(7, "s"), started_at=now - age, opted_out=opted_out)
    assert processes.channel_without_record(process, now) == channel
