"""The facts of a machine as a probe sends them: bounded, and of the right kinds."""

import json
from typing import Any

import pytest

from core.errors import AnswerMalformed
from core.fold.trails import MAX_DISKS, with_reading
from core.model.machine import Disk, Gpu, MachineFacts
from core.model.machine_trail import MachineTrail
from core.model.model_server import ModelServer
from core.watch.machine_facts import MAX_SERVERS, read_facts

SERVER = {"pid": 7, "kind": "vllm", "port": 8_000, "health": "ok", "waiting": 2, "model": "m"}


def facts_with(**more: Any) -> MachineFacts:
    return read_facts(json.dumps({"at": 5.0, **more}).encode())


def test_model_servers_are_read_and_bounded() -> None:
    assert facts_with().model_servers is None, "an older probe, or not read yet"
    assert facts_with(model_servers=None).model_servers is None
    assert facts_with(model_servers=[SERVER]).model_servers == (
        ModelServer(pid=7, kind="vllm", port=8_000, waiting=2, model="m"),
    )
    many = facts_with(model_servers=[{**SERVER, "pid": each} for each in range(500)])
    assert len(many.model_servers or ()) == MAX_SERVERS
    assert many.left_out == 500 - MAX_SERVERS


@pytest.mark.parametrize("rows", [[{}], [7], "x", [{**SERVER, "port": "a"}]])
def test_model_servers_of_another_shape_are_refused(rows: Any) -> None:
    with pytest.raises(AnswerMalformed):
        facts_with(model_servers=rows)


def test_what_is_remembered_of_readings_is_bounded() -> None:
    trail = MachineTrail()
    before: MachineFacts | None = None
    for number in range(200):
        facts = MachineFacts(
            at=number * 61.0,
            disks=tuple(Disk(path=f"/{each}", what="logs", free=1) for each in range(50)),
            gpus=tuple(Gpu(index=each, utilisation=0.0) for each in range(400)),
            model_servers=(ModelServer(pid=number, kind="vllm", port=number, model=f"{number}"),),
        )
        trail, before = with_reading(trail, before, facts), facts
    assert len(trail.disks) == MAX_DISKS
    assert max(map(len, trail.disks.values())) == 30
    assert len(trail.idle_since) == 256
    assert len(trail.servers) == 32


def test_a_gpu_is_idle_since_it_has_been_so_without_a_gap() -> None:
    def at(seconds: float, use: float | None) -> MachineFacts:
        return MachineFacts(at=seconds, gpus=(Gpu(index=0, utilisation=use),))

    trail, before = with_reading(MachineTrail(), None, at(0, 1.0)), at(0, 1.0)
    trail, before = with_reading(trail, before, at(60, 0.0)), at(60, 0.0)
    assert trail.idle_since == {"0": 0}
    assert with_reading(trail, before, at(70, 50.0)).idle_since == {}
    assert with_reading(trail, before, at(70, None)).idle_since == {}
    assert with_reading(trail, before, at(9_000, 0.0)).idle_since == {"0": 9_000}
    assert with_reading(trail, before, at(10, 0.0)).idle_since == {"0": 10}
