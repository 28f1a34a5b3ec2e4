"""Model servers on a machine: loading, full or dead while tasks use them."""

from typing import Any

import pytest

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import Event
from core.fleet import Fleet
from core.model.finding import Finding
from core.model.machine import Gpu, GpuProcess, LinkState
from core.model.model_server import ModelServer
from tests.support.fleets import (
    H1,
    NOW,
    facts,
    judged_after,
    link,
    named,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)

USUAL = JudgeConfig()
MODEL = "vllm/acme/big"


def server(**more: Any) -> ModelServer:
    more.setdefault("health", "ok")
    more.setdefault("started_at", NOW - 10_000)
    return ModelServer(pid=4_000, kind="vllm", port=8_000, model="acme/big", **more)


def using(model: str = MODEL, *argv: str) -> tuple[Event, ...]:
    words = ("inspect", "eval", "x.py", *argv)
    return (named(), link(), process_seen(argv=words), tasks_seen(task_row(model=model)))


def read(
    *servers: ModelServer | None,
    begin: tuple[Event, ...] | None = None,
    rules: JudgeConfig = USUAL,
    fleet: Fleet | None = None,
    at: float = NOW,
) -> Fleet:
    """Return the fleet after readings with one of these servers each; None: there is none."""
    if fleet is None:
        fleet = judged_after(*(using() if begin is None else begin))
    for number, each in enumerate(servers):
        seen = () if each is None else (each,)
        fleet = advance(fleet, facts(at=at + 10 * number, model_servers=seen), rules)
    return fleet


def found_in(fleet: Fleet) -> list[Finding]:
    return [each for each in fleet.findings if each.kind == "model-server" and each.is_open]


@pytest.mark.parametrize(
    ("health", "how"),
    [
        ("refused", "refuses connections"),
        ("silent", "does not answer"),
        ("status 503", "answers with status 503"),
    ],
)
def test_a_dead_server_that_a_task_uses_is_an_alarm(health: str, how: str) -> None:
    dead = server(health=health)
    assert found_in(read(dead)) == []
    [found] = found_in(read(dead, dead))
    assert (found.severity, found.machine, found.task) == ("alarm", H1, task_key())
    assert found.text.startswith(
        f"vLLM of acme/big at port 8000 (process 4000) is dead: it {how} after 30m, and 1 running"
        " task uses it."
    )


def test_a_server_that_has_just_started_is_loading() -> None:
    young = server(health="refused", started_at=NOW - 60)
    [found] = found_in(read(young, young))
    assert found.severity == "notice"
    assert "is loading" in found.text
    assert found_in(read(young, young, begin=(named(), link()))) == [], "nobody waits for it"
    config = JudgeConfig(values={"model-server.loading": 30.0})
    assert found_in(read(young, young, rules=config))[0].severity == "alarm"


def test_a_server_in_which_many_requests_wait_is_full() -> None:
    assert found_in(read(*[server(waiting=10)] * 3)) == []
    fleet = read(*[server(waiting=40)] * 2)
    [found] = found_in(fleet)
    assert found.severity == "suspect"
    assert "is full: 32 requests or more wait, and 1 running task uses it" in found.text
    fleet = read(*[server(waiting=10)] * 3, fleet=fleet, at=NOW + 30)
    assert len(found_in(fleet)) == 1, "it closes at a lower bound"
    fleet = read(*[server(waiting=1)] * 3, fleet=fleet, at=NOW + 90)
    assert found_in(fleet) == []


def test_a_server_whose_process_ended_is_dead_until_another_takes_its_place() -> None:
    fleet = read(server(), server(), None, None)
    [found] = found_in(fleet)
    assert found.severity == "alarm"
    assert "its process has ended" in found.text
    again = ModelServer(pid=5_000, kind="vllm", port=8_000, model="acme/big", started_at=NOW)
    assert found_in(read(again, again, fleet=fleet, at=NOW + 60)) == []


@pytest.mark.parametrize(
    ("begin", "is_used"),
    [
        pytest.param(using(), True, id="by its name"),
        pytest.param(using("vllm/other"), False, id="another model"),
        pytest.param(using("openai/acme/big"), False, id="another provider"),
        pytest.param(
            using("openai-api/x/big", "--model-base-url", "http://localhost:8000/v1"), True,
            id="by its address",
        ),
        pytest.param(
            using("openai-api/x/big", "--model-base-url=http://127.0.0.1:8001/v1"), False,
            id="another port",
        ),
        pytest.param(
            using(MODEL, "--model-base-url=http://gpu-7:8000/v1"), False, id="another host"
        ),
    ],
)  # fmt: skip
def test_tasks_are_joined_to_the_server_that_they_use(
    begin: tuple[Event, ...], is_used: bool
) -> None:
    dead = server(health="refused")
    [found] = found_in(read(dead, dead, begin=begin))
    assert (found.severity == "alarm") == is_used
    assert found_in(read(server(), server(), None, None, begin=begin)) == [] or is_used


def test_a_server_that_answers_is_fine_and_so_is_what_is_not_known() -> None:
    assert found_in(read(*[server()] * 3)) == []
    fleet = read(server(), server())
    for at in (30, 40, 50):
        fleet = advance(fleet, facts(at=NOW + at, model_servers=None))
    assert found_in(fleet) == []
    down = (*using(), link(LinkState.DOWN))
    assert found_in(read(*[server(health="refused")] * 3, begin=down)) == []


def test_it_closes_when_the_server_answers() -> None:
    dead = server(health="refused")
    fleet = read(dead, dead, server(), server())
    assert found_in(fleet) == []
    assert [each.kind for each in fleet.findings if each.closed_at] == ["model-server"]


def test_hostile_answers_do_no_harm() -> None:
    bad = ModelServer(
        pid=-1, kind="\x1b[2J", port=10**12, health="\x1b]0;x\x07" + "y" * 9_000,
        model="vllm/" + "\u202e" * 900, waiting=-5, started_at=float("nan"),
    )  # fmt: skip
    for each in found_in(read(bad, bad, bad)):
        assert "\x1b" not in each.text
        assert "\u202e" not in each.text
        assert len(each.text) < 500


def test_a_gpu_that_the_used_server_holds_is_held_by_nobody_else() -> None:
    gib = 1024**3
    gpu = Gpu(
        index=0, memory_used=70 * gib, memory_total=80 * gib, utilisation=90.0,
        pids=(GpuProcess(pid=4_001, name="VLLM::EngineCore"),),
    )  # fmt: skip
    fleet = judged_after(*using())
    for at in (10, 20, 30):
        seen = facts(at=NOW + at, gpus=(gpu,), model_servers=(server(),))
        fleet = advance(fleet, seen)
    assert [each for each in fleet.findings if each.kind == "gpu-held"] == []
