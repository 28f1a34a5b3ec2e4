"""Interrupt and end: signals to the very process that was meant, and only where nothing is lost."""

import asyncio
import json
import subprocess

import pytest

from core.act.plan import Plan
from core.ids import ProcessKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from core.model.process import ProcessState
from core.model.task import TaskState
from tests.support.acting import Acted, acting_on_eval
from tests.support.evals import Eval, Evals
from tests.support.waiting import until

_INTERRUPT, _END = Action(verb=Verb.INTERRUPT), Action(verb=Verb.KILL)
_PAUSE, _FLUSH = Action(verb=Verb.PAUSE), Action(verb=Verb.FLUSH)


async def gone(acted: Acted, process: ProcessKey) -> None:
    """Wait until the fleet knows the process's end."""
    await acted.watched.until(
        lambda: acted.watched.fleet.processes[process].state is ProcessState.GONE, "it is gone"
    )


async def test_an_interrupt_finalises_the_log_and_a_second_one_is_refused(evals: Evals) -> None:
    one = evals.start(
        "turns", args={"samples": 20, "turns": 300}, options=("--max-samples=3",)
    ).wait_ready()
    one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] > 1)
    async with acting_on_eval(one) as acted:
        process = await acted.process(one)
        plan = await acted.plan(_INTERRUPT, process)
        [step] = plan.steps
        assert step.preview is not None
        assert step.preview.is_computed
        assert "written as cancelled" in step.preview.sentence
        assert any("control server" in note for note in step.preview.notes)  # not launched here
        assert plan.words == str(one.pid)
        assert not acted.sent
        [report] = await acted.acting.carry_out(plan, words=plan.words)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE
        state, message = await acted.one(_INTERRUPT, process)
        assert state in {OrderState.REFUSED, OrderState.NO_CHANGE}, message
        assert len(acted.sent) == 1
        await gone(acted, process)
        [task] = acted.watched.tasks(one)
        await acted.watched.until(
            lambda: acted.watched.fleet.tasks[task.key].state is TaskState.CANCELLED,
            "its log says cancelled",
        )
        findings = [each for each in acted.watched.fleet.findings if each.kind == "interrupt"]
        assert [each.closed_at is not None for each in findings] == [True]
        assert findings[0].text.endswith("its logs have the status cancelled")
        assert (await acted.one(_END, process))[0] is OrderState.NO_CHANGE


@pytest.mark.xdist_group("busy_eval")
async def test_nothing_is_interrupted_or_ended_while_samples_are_held(busy_eval: Eval) -> None:
    async with acting_on_eval(busy_eval) as acted:
        process = await acted.process(busy_eval)
        busy_eval.pause(hard=True)
        await until(lambda: busy_eval.task()["held"], "samples are held")
        for action in (_INTERRUPT, _END):
            state, message = await acted.one(action, process)
            assert state is OrderState.REFUSED
            assert "held" in message
        assert not acted.sent
        assert busy_eval.popen.poll() is None


@pytest.mark.xdist_group("busy_eval")
async def test_a_process_whose_log_is_not_final_is_not_ended(busy_eval: Eval) -> None:
    async with acting_on_eval(busy_eval) as acted:
        state, message = await acted.one(_END, await acted.process(busy_eval))
        assert state is OrderState.REFUSED
        assert "not final" in message
        assert "started" in message
        assert not acted.sent
        assert busy_eval.popen.poll() is None


async def test_a_parked_process_is_ended_since_its_log_is_final(evals: Evals) -> None:
    one = evals.start("turns", args={"samples": 1, "turns": 1}, keep=True).wait_ready()
    one.wait_finished()
    async with acting_on_eval(one) as acted:
        process = await acted.process(one)
        refused = await acted.one(_INTERRUPT, process)
        assert refused[0] is OrderState.NO_CHANGE
        assert "Release the process" in refused[1]
        plan = await acted.plan(_END, process)
        [step] = plan.steps
        assert step.preview is not None
        assert "final" in step.preview.sentence
        await acted.acting.carry_out(plan, words=plan.words)
        await gone(acted, process)


@pytest.mark.slow
async def test_where_sigint_is_ignored_the_leftover_may_be_ended_once_nothing_can_be_lost(
    evals: Evals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quiesced and flushed before the interrupt: its finished samples are all in the log."""
    monkeypatch.setattr("core.act.planner.LEFTOVER_AFTER_S", 3.0)
    one = ignoring_sigint(evals)
    async with acting_on_eval(one) as acted:
        process = await acted.process(one)
        task = await acted.task(one)
        await acted.one(_PAUSE, process)
        await until(lambda: one.task()["quiesced"], "quiesced")
        await acted.one(_FLUSH, task)
        finished = one.task()["samples"]["completed"]
        assert (await acted.one(_INTERRUPT, process))[0] is OrderState.DONE
        await acted.watched.until(
            lambda: acted.watched.fleet.processes[process].state is ProcessState.HEADLESS,
            "its control server is gone",
        )
        assert one.popen.poll() is None
        findings = [each for each in acted.watched.fleet.findings if each.kind == "interrupt"]
        assert "continues unobserved" in findings[0].text
        plan = await plan_to_end(acted, process)
        [step] = plan.steps
        assert step.preview is not None
        assert "nothing is lost" in step.preview.sentence
        await acted.acting.carry_out(plan, words=plan.words)
        await gone(acted, process)
    assert await asyncio.to_thread(samples_in_log, one) == finished


async def plan_to_end(acted: Acted, process: ProcessKey) -> Plan:
    """Return the plan that ends a process, once it is allowed."""
    plans: list[Plan] = []

    async def plan_again() -> None:
        plans.append(await acted.plan(_END, process))
        [step] = plans[-1].steps
        assert plans[-1].sent or (step.refusal is not None and step.refusal.kind == "refused")

    def allowed() -> Plan | None:
        return plans[-1] if plans[-1].sent else None

    return await until(allowed, "the end is allowed", before=plan_again, every=0.3)


def samples_in_log(one: Eval) -> int:
    """How many finished samples its log holds, by Inspect's own reading."""
    [log] = one.log_dir.glob("*.eval")
    script = (
        "import sys, json; from inspect_ai.log import read_eval_log_sample_summaries as read;"
        " print(json.dumps(sum(each.completed for each in read(sys.argv[1]))))"
    )
    done = subprocess.run(
        [one.python, "-c", script, str(log)], check=True, capture_output=True, cwd=one.folder
    )
    return int(json.loads(done.stdout))


def ignoring_sigint(evals: Evals) -> Eval:
    """An eval that was started as a background job of a script: SIGINT is ignored in it."""
    one = evals.start(
        "turns",
        args={"samples": 1_000, "turns": 8},
        options=("--max-samples=3",),
        ignores_sigint=True,
    )
    one.wait_ready()
    one.wait_rows(lambda rows: rows[0]["samples"]["completed"] > 1)
    return one


async def test_a_set_between_two_tasks_is_not_taken_for_finished(evals: Evals) -> None:
    """Only finished rows are listed there, and one task is yet to start."""
    gate = evals.folder / "gate"
    one = evals.start(
        "turns", "tools", args={"samples": 1, "turns": 1, "gate": gate}, eval_set=True,
        options=("--max-tasks=1",),
    ).wait_ready()  # fmt: skip
    one.pause()
    gate.touch()
    one.wait_rows(lambda rows: len(rows) == 1 and rows[0]["status"] == "completed")
    async with acting_on_eval(one) as acted:
        plan = await acted.plan(_INTERRUPT, await acted.process(one))
        [step] = plan.steps
        assert step.is_sent, step.refusal
        assert step.preview is not None
        assert "1 task never starts" in step.preview.sentence
