"""The log of a killed eval is recovered by its machine's Inspect, after a preview."""

import asyncio
from dataclasses import replace
from pathlib import Path

from inspect_ai.log import read_eval_log

from core.model.action import Action, Verb
from core.model.order import OrderState
from core.model.task import Task, TaskState
from tests.support.acting import acting_on
from tests.support.desk_on_evals import this_computer
from tests.support.evals import Evals

RECOVER = Action(verb=Verb.RECOVER)


async def test_the_log_of_a_killed_eval_is_recovered_and_takes_its_place(evals: Evals) -> None:
    one = evals.start("turns", args={"samples": 4, "sleep": 3_600}).wait_ready()
    machine = replace(this_computer(one.data_dir), python=one.python)
    async with acting_on([machine], one.folder / "known_hosts") as acted:
        key = await acted.task(one)
        [refused] = (await acted.plan(RECOVER, key)).steps
        assert refused.refusal is not None
        assert "still runs" in refused.refusal.sentence
        await asyncio.to_thread(
            one.wait_rows, lambda rows: len(rows) == 1 and rows[0]["samples"]["in_flight"] > 0
        )
        one.kill()

        def now() -> Task:
            return acted.watched.fleet.tasks[key]

        await acted.watched.until(lambda: now().state is TaskState.LOST, "it is lost")
        old = now().row.log_location
        plan = await acted.plan(RECOVER, key)
        [step] = plan.steps
        assert step.preview is not None
        assert "Its buffer holds 0 finished samples and" in step.preview.sentence
        assert step.command.endswith(f"-m inspect_ai log recover {old}")
        assert plan.confirmation == "yes"
        [report] = await acted.acting.carry_out(plan, words=plan.words, yes=True)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE
        new = now().row.log_location
        assert new != old
        assert report.outcome.message.endswith(f"in the new log {new}")
        assert now().state is TaskState.ERROR
        log = await asyncio.to_thread(read_eval_log, new)
        assert (log.status, len(log.samples or ())) == ("error", now().progress.ended)
        [over] = (await acted.plan(RECOVER, key)).steps
        assert over.refusal is not None
        assert over.refusal.kind == "no change"
        assert await asyncio.to_thread(Path(old).exists)
