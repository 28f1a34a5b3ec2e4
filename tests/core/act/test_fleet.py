"""One action on many targets: merged previews, separate outcomes, and no other target."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from core.act.plan import blast_radius, skipped
from core.act.planner import PlanningProgress
from core.act.target_expansion import with_model
from core.act.target_grammar import TargetSpec, places_of
from core.config.model import MachineConfig
from core.ids import MachineName, process_of
from core.model.action import Action, Change, Verb
from core.model.order import OrderState, Outcome
from core.model.process import ProcessState
from tests.support.acting import Acted, acting_on, acting_on_eval
from tests.support.desk_on_evals import PROBE_PYTHON
from tests.support.evals import Eval, Evals
from tests.support.waiting import until

RED, BLUE = MachineName("red"), MachineName("blue")
MODEL = "mock/talker"
_PAUSE = Action(verb=Verb.PAUSE)


def machine(name: MachineName, folder: Path) -> MachineConfig:
    """A machine that is a data folder of this computer."""
    return MachineConfig(
        name=name, link="command", python=PROBE_PYTHON, data_dir=str(folder / name)
    )


Started = Sequence[tuple[Eval, MachineName]]
"""Evals, each with the machine that it runs on."""


def started(evals: Evals, *names: MachineName) -> Started:
    """One process on each of these machines, all with the same model, all at work."""
    ones = [
        evals.start(
            "turns", args={"samples": 30, "turns": 200}, options=("--max-samples=2",),
            data_dir=evals.folder / name,
        )
        for name in names
    ]  # fmt: skip
    for one in ones:
        one.wait_ready()
        one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] > 0)
    return list(zip(ones, names, strict=True))


@asynccontextmanager
async def acting_over(
    evals: Evals, ones: Started, *machines: MachineConfig
) -> AsyncGenerator[Acted]:
    """Hands over machines (red and blue); all processes are known."""
    wanted = machines or (machine(RED, evals.folder), machine(BLUE, evals.folder))
    async with acting_on(wanted, evals.folder / "known_hosts") as acted:
        for one, name in ones:
            await acted.watched.key(one, name)
        yield acted


async def test_a_model_is_paused_everywhere_and_resumed_exactly_where_it_was_paused_here(
    evals: Evals,
) -> None:
    three = started(evals, RED, RED, BLUE)
    [first, second, third] = [one for one, _ in three]
    second.post("/models/pause?model=mock%2Ftalker")  # someone else did
    async with acting_over(evals, three) as acted:
        everywhere = with_model(acted.watched.fleet, MODEL)
        assert {each.process.pid for each in everywhere} == {one.pid for one, _ in three}
        plan = await acted.plan(_PAUSE, *everywhere)
        assert blast_radius(plan) == "affects 2 machines, 2 processes"
        assert skipped(plan.steps) == (("model already paused", 1),)
        third.kill()  # one goes down in between

        def is_gone() -> bool:
            process = acted.watched.process(third, BLUE)
            return process is not None and process.state is ProcessState.GONE

        await acted.watched.until(is_gone, "the third is gone")
        reports = await acted.acting.carry_out(plan, yes=True)
        outcomes = {process_of(each.step.target).pid: each.outcome for each in reports}
        assert outcomes[first.pid] == Outcome(state=OrderState.DONE, message="paused")
        assert outcomes[second.pid] == Outcome(
            state=OrderState.NO_CHANGE, message="model already paused"
        )
        assert outcomes[third.pid] == Outcome(
            state=OrderState.NO_CHANGE, message="the process is gone"
        )
        assert first.task()["paused_models"] == [MODEL]

        undo = await acted.acting.undo()
        assert [process_of(step.target).pid for step in undo.sent] == [first.pid]
        await acted.acting.carry_out(undo, yes=True)
        assert first.task()["paused_models"] == []
        assert second.task()["paused_models"] == [MODEL]  # it was not ours


async def test_marked_tasks_give_one_preview_with_what_is_left_out_and_words_for_all(
    evals: Evals,
) -> None:
    """A read-only machine is left out, a production one asks for words."""
    two = started(evals, RED, BLUE)
    [first, second] = [one for one, _ in two]
    read_only = replace(machine(RED, evals.folder), read_only=True)
    production = replace(machine(BLUE, evals.folder), production=True)
    async with acting_over(evals, two, read_only, production) as acted:
        plan = await acted.plan(_PAUSE, *acted.watched.fleet.tasks)
        assert skipped(plan.steps) == (("red is read-only: evalroom changes nothing there", 1),)
        assert plan.confirmation == "words"
        assert plan.words == "turns"
        await acted.acting.carry_out(plan, words="turns")
        assert second.task()["paused"] == ["task"]
        assert first.task()["paused"] is None
    async with acting_over(evals, two) as acted:
        tasks = tuple(acted.watched.fleet.tasks)
        received: list[PlanningProgress] = []
        plan = await acted.acting.plan(
            "drain", Action(verb=Verb.DRAIN), tasks, on_progress=received.append
        )
        assert received == [PlanningProgress(1, 2), PlanningProgress(2, 2)]
        assert not acted.sent
        assert plan.words == "drain 2"
        assert blast_radius(plan) == "affects 2 machines, 2 processes, 2 tasks"
        reports = await acted.acting.carry_out(plan, words="drain 2")
        assert [each.outcome.state for each in reports if each.outcome] == [OrderState.DONE] * 2
        assert all(one.task()["resolving"] == "drain" for one, _ in two)
        again = await acted.do(Action(verb=Verb.DRAIN), *tasks)
        assert {each.outcome.state for each in again if each.outcome} == {OrderState.NO_CHANGE}


@pytest.mark.xdist_group("busy_eval")
async def test_a_run_that_was_launched_here_asks_for_enter_alone(busy_eval: Eval) -> None:
    async with acting_on_eval(busy_eval, runs=("run-7",)) as acted:
        task = await acted.task(busy_eval)
        plan = await acted.plan(_PAUSE, task)
        assert plan.confirmation == "enter"
        [report] = await acted.acting.carry_out(plan)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE
        assert acted.book.orders[0].is_ours


async def test_every_errored_sample_is_run_again_and_what_it_said_stays_withheld(
    evals: Evals,
) -> None:
    one = evals.start(
        "errors", "turns",
        args={"samples": 1_000, "always": 0, "first": 2, "turns": 200, "sleep": 1},
        options=("--max-tasks=1", "--no-fail-on-error", "--max-samples=2"),
    ).wait_ready()  # fmt: skip
    one.pause()  # the task can't finish before we are there
    one.resume()
    async with acting_on_eval(one) as acted:
        task = await acted.task(one, "errors")

        def errored() -> bool:
            row = one.task("errors")
            return bool(row) and row["samples"]["errored"] == 2

        await until(errored, "two samples errored")
        plan = await acted.plan(Action(verb=Verb.REQUEUE), task)
        assert len(plan.sent) == 2
        requeue = Action(verb=Verb.REQUEUE)
        here = (
            TargetSpec(everything=True, errored=True),
            TargetSpec(on=task.machine),
            TargetSpec(targets=[str(one.pid)]),
        )
        for aim in here:
            places = places_of(aim, requeue, acted.watched.fleet)
            wider = await acted.plan(requeue, *places)
            assert {step.target for step in wider.sent} == {step.target for step in plan.sent}
        assert blast_radius(plan) == "affects 1 machine, 1 process, 1 task, 2 samples"
        for step in plan.sent:
            assert step.preview is not None
            [withheld] = step.preview.withheld
            assert withheld.name == "prior_error"
            assert "lost its sandbox" in withheld.text
            assert withheld.size.startswith("error, ")
            assert "sandbox" not in step.preview.sentence
            assert "sandbox" not in json.dumps(dict(step.preview.fields))
        reports = await acted.acting.carry_out(plan, yes=True)
        assert [each.outcome.state for each in reports if each.outcome] == [OrderState.DONE] * 2
        assert all("sandbox" not in repr(order) for order in acted.book.orders)
        await until(lambda: one.task("errors")["samples"]["errored"] == 0, "both run again")


@pytest.mark.xdist_group("busy_eval")
async def test_a_change_of_knobs_is_recorded_in_the_log_with_author_and_reason(
    busy_eval: Eval,
) -> None:
    async with acting_on_eval(busy_eval) as acted:
        task = await acted.task(busy_eval)
        action = Action(
            verb=Verb.CONFIG, changes=(Change("time_limit", 500), Change("max_retries", 2))
        )
        [report] = await acted.do(action, task, reason="the provider is slow")
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE, report
        location = acted.watched.desk.fleet.tasks[task].row.log_location
        log = await asyncio.to_thread(read_eval_log, location, header_only=True)
        updates = [each.model_dump_json() for each in log.config_updates or []]
        for knob in ("time_limit", "max_retries"):
            [last] = [each for each in updates if knob in each][-1:]
            assert "Ada" in last
            assert "the provider is slow" in last
