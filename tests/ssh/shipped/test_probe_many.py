"""An account may start any number of processes: the probe lists some, and counts the others."""
# pyright: standard
# The shipped programs have no types.

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ssh.shipped.probe.process_list import ProcessList


def test_processes_beyond_the_limit_are_counted_and_never_take_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr("ssh.shipped.probe.process_list.MAX_PROCESSES", 3)
    probe = SimpleNamespace(frames=SimpleNamespace(state=lambda *frame: sent.append(frame)))
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
