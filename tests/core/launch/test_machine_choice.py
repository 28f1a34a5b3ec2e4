"""The choice of a machine for a run, the lacks of the others, and machines out of reach."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cli.wiring.launches import PlanContext, plan_context, plan_on
from core.config.model import MachineConfig
from core.errors import JobFailed, RequestFailed
from core.fleet import Fleet
from core.ids import MachineName
from core.launch.plan.matrix import expand
from core.launch.preflight.checks import CheckedPlan
from core.launch.preflight.machine_choice import choose_machines
from core.model.job import Job
from core.model.machine import LinkState, LinkStatus, Machine
from tests.support.specs import SMOKE, spec
from tests.support.surveys import preflight, texts

NAMES = ("a", "b", "c")
MACHINES = tuple(
    MachineConfig(name=MachineName(name), host=name, python="/v/bin/python") for name in NAMES
)
INSPECT: dict[str, Any] = {
    "python": "3.11.0",
    "inspect": "0.3.285",
    "imported": True,
    "packages": {},
}


def answer(gpus: int = 0, **parts: Any) -> dict[str, Any]:
    """The answer of a machine with this many free GPUs."""
    rows = [{"index": i, "uuid": f"GPU-{i}", "name": "H100"} for i in range(gpus)]
    well: dict[str, Any] = {
        "machine": {"python": "3.11.0", "platform": "Linux", "host": "h", "user": "u"},
        "inspect": INSPECT,
        "gpus": rows,
        "reservations": {"folder": "/var/lock/evalroom", "held": []},
        "variables": [],
    }
    found: dict[str, Any] = {key: {"state": "ok", "value": each} for key, each in well.items()}
    return {**found, **parts}


NO_INSPECT: dict[str, Any] = {"state": "ok", "value": {**INSPECT, "inspect": None}}


@dataclass
class Answers:
    """Fulfils `core.model.job.Worker`: what each machine answers, or fails with."""

    by_name: Mapping[str, dict[str, Any] | RequestFailed]
    asked: list[tuple[str, Job]] = field(default_factory=list[tuple[str, Job]])

    async def work(self, machine: MachineName, job: Job, *, deadline: float) -> Mapping[str, Any]:
        assert deadline > 0
        self.asked.append((machine, job))
        found = self.by_name[machine]
        if isinstance(found, RequestFailed):
            raise found
        return found


def around() -> PlanContext:
    return plan_context()


async def chosen(
    answers: Answers, more: str = "", *sets: str, fleet: Fleet | None = None
) -> tuple[CheckedPlan, ...]:
    asked = spec(more, "machine=any", *sets, text=SMOKE)
    known, machines = around(), {each.name: each for each in MACHINES}
    plans = [
        [plan_on(each, machines[name], known) for name in each.candidates]
        for each in expand(asked, MACHINES)
    ]
    return await choose_machines(answers, plans, machines, lambda: fleet or Fleet(), secrets=())


async def test_the_first_machine_that_fits_is_taken_and_the_others_say_why_not() -> None:
    away = RequestFailed("not sent: the link to c is down")
    answers = Answers({"a": answer(inspect=NO_INSPECT), "b": answer(), "c": away})
    [one] = await chosen(answers)
    assert (one.plan.machine, one.stops) == ("b", ())
    assert one.passed_over == (
        ("a", "/v/bin/python does not have Inspect"),
        ("c", "can't survey c: not sent: the link to c is down"),
    )
    # The answer of the check is no longer a warning of the plan.
    assert one.plan.warnings == ()


async def test_where_gpus_are_asked_for_most_free_ones_go_first_and_none_is_given_twice() -> None:
    answers = Answers({"a": answer(1), "b": answer(3), "c": answer(0)})
    runs = await chosen(
        answers, "gpus = 1", 'model=["mockllm/a","mockllm/b","mockllm/c","mockllm/d","mockllm/e"]'
    )
    assert [each.plan.machine for each in runs[:4]] == ["b", "b", "a", "b"]
    assert not any(each.stops for each in runs[:4])
    assert "0 of 1 are free: GPU 0 goes to another run of this launch" in texts(runs[4].checks)[0]
    assert sorted(name for name, _ in answers.asked) == ["a", "b", "c"], "each is asked once"
    assert len(answers.asked[0][1].given["runs"]) == 5


async def test_where_none_fits_the_one_with_the_fewest_stops_is_shown() -> None:
    away = RequestFailed("not sent: the link to a is down")
    answers = Answers({"a": away, "b": answer(inspect=NO_INSPECT), "c": answer()})
    [one] = await chosen(answers, "gpus = 1")
    assert one.plan.machine == "c"
    assert [each.name for each in one.stops] == ["GPUs"]
    assert one.passed_over[1] == ("b", "/v/bin/python does not have Inspect (and 1 more)")


async def test_a_machine_that_is_not_there_is_a_stop_with_its_links_reason() -> None:
    link = LinkStatus(
        state=LinkState.NEEDS_TRUST, since=0, reason="its host key is unknown", advice="accept it"
    )
    machine = Machine(name=MachineName("a"), address="a", kind="asyncssh", link=link)
    fleet = Fleet(machines={machine.name: machine})
    worker = Answers({"a": RequestFailed("not sent: the link to a is down")})
    [launch] = expand(spec("", "machine=a"), MACHINES)
    made = plan_on(launch, MACHINES[0], around())
    [check] = await preflight(worker, made, MACHINES[0], fleet, secrets=())
    assert texts([check]) == ["stop link: a is not reachable: its host key is unknown; accept it"]
    failing = Answers({"a": JobFailed("the survey has no verb survey", "mind the version")})
    [check] = await preflight(failing, made, MACHINES[0], Fleet(), secrets=())
    assert texts([check])[0].endswith("the survey has no verb survey; mind the version")


async def test_an_empty_answer_is_judged_too() -> None:
    answers = Answers({"a": {}, "b": {"inspect": 5}, "c": {"machine": {"state": "ok"}}})
    [one] = await chosen(answers, "gpus = 1")
    assert one.plan.machine == "a"
    assert one.stops == ()
    assert "warning python: the survey returned nothing about the machine itself; " in texts(
        one.checks
    )
