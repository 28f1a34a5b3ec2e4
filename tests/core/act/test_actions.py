"""Every action on a real eval: a dry run changes nothing, and an order does what it announced."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from core.ctl import routes
from core.ids import ModelKey, SampleKey, Target
from core.model.action import Action, Change, Manner, Verb
from core.model.order import OrderState
from tests.support.acting import Acted, acting_on_eval
from tests.support.evals import Eval, running_evals
from tests.support.waiting import WAIT_S, until

pytestmark = pytest.mark.xdist_group("acted_eval")

_CLOCKS = {"total_tokens", "total_messages", "tokens_per_second", "as_of"}


@pytest.fixture(scope="module")
def long_eval() -> Iterator[Eval]:
    """A process whose samples talk for a long time: tasks `turns` and `tools`."""
    with running_evals() as evals:
        one = evals.start(
            "turns", "tools", keep=True,
            args={"samples": 200, "turns": 2_000, "naps": 50, "seconds": 3.0, "think": 0.2},
            options=("--max-tasks=2", "--max-samples=4", "--no-fail-on-error"),
        ).wait_ready()  # fmt: skip
        one.wait_rows(
            lambda rows: len(rows) == 2 and all(row["samples"]["in_flight"] for row in rows)
        )
        for row in one.tasks():  # known without its log, which each hard pause would read
            path = f"{routes.task_config(row['task_id'])}?time_limit=9000"
            assert one.ask("PATCH", path)[0] == 200
        yield one


Look = Callable[[Eval, Target], Any]


def _row(one: Eval, target: Target) -> Mapping[str, Any]:
    task = target.task if isinstance(target, SampleKey) else target
    wanted = getattr(task, "task_id", None)
    rows = one.tasks()
    return next((row for row in rows if wanted in {None, row["task_id"]}), rows[0])


def _own_pause(one: Eval, target: Target) -> tuple[bool, bool]:
    row = _row(one, target)
    return "task" in (row["paused"] or ()), "task" in (row["paused_now"] or ())


def _process_pause(one: Eval, target: Target) -> tuple[bool, bool]:
    row = _row(one, target)
    return row["process_paused"], row["process_paused_now"]


def _model_pause(one: Eval, target: Target) -> tuple[bool, bool]:
    row = next(each for each in one.tasks() if each["model"] == getattr(target, "model", ""))
    return row["model"] in row["paused_models"], "model" in (row["paused_now"] or ())


def _keep(one: Eval, target: Target) -> bool:
    return bool(_row(one, target)["keep_alive"])


def _knobs(one: Eval, target: Target) -> tuple[Any, ...]:
    view = one.get(routes.task_config(_row(one, target)["task_id"]))
    return view["max_samples"]["limit"], view["retry"]["max_retries"], view["limits"]["time_limit"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A reversible action, and where its effect is read.

    Attributes:
        first: Done before it, so that there is something to do.
        before, after: What `look` answers.
        by_hand: Whether the shown command is run too; once for each verb on each scope.
    """

    action: Action
    on: str
    look: Look
    before: Any
    after: Any
    first: Action | None = None
    by_hand: bool = True


_SOFT, _HARD = Action(verb=Verb.PAUSE), Action(verb=Verb.PAUSE, now=True)
_RESUME = Action(verb=Verb.RESUME)
_SET = Action(
    verb=Verb.CONFIG,
    changes=(Change("max_samples", 6), Change("max_retries", 3), Change("time_limit", 900)),
)
_NONE, _IS_SOFT, _IS_HARD = (False, False), (True, False), (True, True)

CASES = {
    "pause a task": Case(
        action=_SOFT, on="task", look=_own_pause, before=_NONE, after=_IS_SOFT, by_hand=False
    ),
    "pause a task now": Case(
        action=_HARD, on="task", look=_own_pause, before=_NONE, after=_IS_HARD
    ),
    "soften a hard pause": Case(
        action=_SOFT, on="task", look=_own_pause, before=_IS_HARD, after=_IS_SOFT, first=_HARD,
        by_hand=False,
    ),
    "resume a task": Case(
        action=_RESUME, on="task", look=_own_pause, before=_IS_SOFT, after=_NONE, first=_SOFT
    ),
    "pause a process": Case(
        action=_SOFT, on="process", look=_process_pause, before=_NONE, after=_IS_SOFT, by_hand=False
    ),
    "pause a process now": Case(
        action=_HARD, on="process", look=_process_pause, before=_NONE, after=_IS_HARD
    ),
    "resume a process": Case(
        action=_RESUME, on="process", look=_process_pause, before=_IS_HARD, after=_NONE, first=_HARD
    ),
    "pause a model": Case(
        action=_SOFT, on="model", look=_model_pause, before=_NONE, after=_IS_SOFT, by_hand=False
    ),
    "pause a model now": Case(
        action=_HARD, on="model", look=_model_pause, before=_NONE, after=_IS_HARD
    ),
    "resume a model": Case(
        action=_RESUME, on="model", look=_model_pause, before=_IS_SOFT, after=_NONE, first=_SOFT
    ),
    "release": Case(
        action=Action(verb=Verb.RELEASE), on="process", look=_keep, before=True, after=False
    ),
    "keep": Case(
        action=Action(verb=Verb.KEEP), on="process", look=_keep, before=False, after=True,
        first=Action(verb=Verb.RELEASE),
    ),
    "config": Case(
        action=_SET, on="task", look=_knobs, before=(4, None, 9000), after=(6, 3, 900)
    ),
}  # fmt: skip


async def _target(acted: Acted, one: Eval, on: str) -> Target:
    task = await acted.task(one, "turns")
    if on == "task":
        return task
    return task.process if on == "process" else ModelKey(task.process, "mock/talker")


@pytest.mark.parametrize("name", CASES)
async def test_what_can_be_undone_is_previewed_done_repeated_and_undone(
    long_eval: Eval, name: str
) -> None:
    """One reversible action, through its whole life."""
    case = CASES[name]
    async with acting_on_eval(long_eval) as acted:
        target = await _target(acted, long_eval, case.on)
        if case.first is not None:
            assert (await acted.one(case.first, target))[0] is OrderState.DONE
        assert case.look(long_eval, target) == case.before
        acted.wire.clear()

        plan = await acted.plan(case.action, target, reason="a test")
        assert case.look(long_eval, target) == case.before, "the dry run changed something"
        assert not acted.sent
        [step] = plan.steps
        assert step.preview is not None
        assert step.is_sent, step.refusal
        assert step.undo is not None

        [report] = await acted.acting.carry_out(plan, yes=True)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE, report
        assert case.look(long_eval, target) == case.after
        assert len(acted.sent) == 1

        repeat = await acted.one(case.action, target)
        assert repeat[0] is OrderState.NO_CHANGE
        assert len(acted.sent) == 1, "a repeat sent something"

        undo = await acted.acting.undo()
        assert [each.target for each in undo.sent] == [target]
        await acted.acting.carry_out(undo, yes=True)
        assert case.look(long_eval, target) == case.before

        if case.first is not None:
            former = case.first
            if former.verb is Verb.RELEASE:
                await acted.one(Action(verb=Verb.KEEP), target)
            else:
                await acted.one(_RESUME, target)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.by_hand])
async def test_the_shown_command_does_the_same_by_hand(long_eval: Eval, name: str) -> None:
    """The shell command of a preview, run in a shell."""
    case = CASES[name]
    async with acting_on_eval(long_eval) as acted:
        target = await _target(acted, long_eval, case.on)
        if case.first is not None:
            await acted.one(case.first, target)
        [step] = (await acted.plan(case.action, target)).steps
        await by_hand(long_eval, step.command)
        assert case.look(long_eval, target) == case.after
        assert step.undo is not None
        await acted.do(step.undo, target)
        assert case.look(long_eval, target) == case.before
        if case.first is not None:
            keep = case.first.verb is Verb.RELEASE
            await acted.one(Action(verb=Verb.KEEP) if keep else _RESUME, target)


async def by_hand(one: Eval, command: str) -> None:
    """Run an equivalent command as an operator would, in a shell."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = await asyncio.to_thread(
        subprocess.run, ["/bin/sh", "-c", command], cwd=one.folder, env=kept, check=False,
        capture_output=True, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0, (command, done.stdout, done.stderr)


async def test_three_latches_hold_a_task_each_by_itself(long_eval: Eval) -> None:
    """Task, process and model: resuming one leaves the others, and its preview says so."""
    async with acting_on_eval(long_eval) as acted:
        task = await acted.task(long_eval, "turns")
        model = ModelKey(task.process, "mock/talker")
        for target, action in ((task, _HARD), (task.process, _SOFT), (model, _SOFT)):
            assert (await acted.one(action, target))[0] is OrderState.DONE
        row = _row(long_eval, task)
        assert sorted(row["paused"]) == ["model", "process", "task"]
        assert row["paused_now"] == ["task"]
        await until(lambda: _row(long_eval, task)["held"], "samples are held")
        assert not _row(long_eval, task)["quiesced"]

        [step] = (await acted.plan(_RESUME, task.process)).steps
        assert step.preview is not None
        assert "1 task stays paused by: task, model" in step.preview.sentence
        for target, left in (
            (task.process, ["model", "task"]), (task, ["model"]), (model, []),
        ):  # fmt: skip
            assert (await acted.one(_RESUME, target))[0] is OrderState.DONE
            assert sorted(_row(long_eval, task)["paused"] or []) == left

        assert (await acted.one(_SOFT, task))[0] is OrderState.DONE
        assert _row(long_eval, task)["paused_now"] is None
        assert (await acted.one(_RESUME, task))[0] is OrderState.DONE


# What can't be undone: one sample by an order, its twin by the shown command


def _sample(one: Eval, task: str, sample_id: str | int) -> Mapping[str, Any]:
    rows = one.samples(task)
    nothing: dict[str, Any] = {}
    return next((row for row in rows if row["sample_id"] == sample_id), nothing)


def _running(one: Eval, task: str) -> list[Any]:
    return [row["sample_id"] for row in one.samples(task) if row["status"] == "running"]


@pytest.mark.parametrize("manner", ["score", "cancel"])
async def test_a_running_sample_is_cancelled_as_its_twin_by_the_shown_command(
    long_eval: Eval, manner: Manner
) -> None:
    """Cancel of a sample in flight: asks for its name, and does what the preview said."""
    action = Action(verb=Verb.CANCEL, manner=manner)
    async with acting_on_eval(long_eval) as acted:
        task = await acted.task(long_eval, "turns")
        await until(lambda: len(_running(long_eval, "turns")) > 1, "two samples run")
        first, twin = (SampleKey(task, each, 1) for each in _running(long_eval, "turns")[-2:])
        plan = await acted.plan(action, first)
        assert plan.confirmation == "words"
        assert plan.words == f"{first.sample_id}/1"
        assert _sample(long_eval, "turns", first.sample_id)["status"] == "running"
        [report] = await acted.acting.carry_out(plan, words=plan.words)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE
        [other] = (await acted.plan(action, twin)).steps
        await by_hand(long_eval, other.command)

        def ended() -> list[tuple[Any, ...]] | None:
            rows = [_sample(long_eval, "turns", each.sample_id) for each in (first, twin)]
            if any(row["status"] == "running" for row in rows):
                return None
            return [(row["status"], row["limit"]) for row in rows]

        [ours, by_command] = await until(ended, "both ended")
        assert ours == by_command
        assert ours == (("completed", "operator") if manner == "score" else ("cancelled", None))
        repeat = await acted.one(action, first)
        assert repeat[0] is OrderState.NO_CHANGE


async def test_a_waiting_sample_leaves_the_queue_and_a_requeue_brings_it_back(
    long_eval: Eval,
) -> None:
    """Cancel before the start, and requeue."""
    async with acting_on_eval(long_eval) as acted:
        task = await acted.task(long_eval, "turns")
        waiting = SampleKey(task, "s190", 1)
        cancelled = await acted.one(Action(verb=Verb.CANCEL, manner="cancel"), waiting)
        assert cancelled[0] is OrderState.DONE
        assert _sample(long_eval, "turns", "s190")["status"] == "cancelled"
        again = await acted.one(Action(verb=Verb.REQUEUE), waiting)
        assert again[0] is OrderState.DONE
        assert _sample(long_eval, "turns", "s190")["status"] in {"pending", "queued", "running"}
        repeat = await acted.one(Action(verb=Verb.REQUEUE), waiting)
        assert repeat[0] is OrderState.NO_CHANGE


async def test_a_tool_call_is_ended_and_its_sample_goes_on(long_eval: Eval) -> None:
    """Cancel of one call in progress."""
    async with acting_on_eval(long_eval) as acted:
        task = await acted.task(long_eval, "tools")

        def calling() -> Any:
            rows = (row for row in long_eval.samples("tools") if row["status"] == "running")
            return next((row["sample_id"] for row in rows if _calls(row)), None)

        cancelled: list[tuple[SampleKey, str]] = []

        def is_over(sample: SampleKey, call_id: str) -> bool:
            row = _sample(long_eval, "tools", sample.sample_id)
            return row["status"] != "running" or all(call["id"] != call_id for call in _calls(row))

        async def cancel_one() -> None:
            """Cancel a call; a nap that is over by itself meanwhile is left alone."""
            sample = SampleKey(task, await until(calling, "a tool runs"), 1)
            plan = await acted.plan(Action(verb=Verb.CANCEL_CALL), sample)
            [step] = plan.steps
            assert step.preview is not None
            if step.preview.changes_nothing:
                return
            assert "nap" in step.preview.sentence
            call_id = str(step.preview.fields["tool_call_id"])
            for call in _calls(_sample(long_eval, "tools", sample.sample_id)):
                assert not call["cancel_requested"], "the dry run cancelled it"
            [report] = await acted.acting.carry_out(plan, yes=True)
            if report.outcome is not None and report.outcome.state is OrderState.DONE:
                cancelled.append((sample, call_id))
            else:
                assert is_over(sample, call_id), report

        await until(lambda: cancelled, "a call is cancelled", before=cancel_one)
        await until(lambda: is_over(*cancelled[0]), "the call is over")


def _calls(row: Mapping[str, Any]) -> list[Any]:
    activity: Any = row.get("activity")
    return [] if not activity else list(activity["calls"] or [])


async def test_interim_scores_are_asked_for_and_come(long_eval: Eval) -> None:
    """Score now, and the free form; Inspect answers with a pass."""
    async with acting_on_eval(long_eval) as acted:
        task = await acted.task(long_eval, "turns")
        for completed_only in (True, False):
            action = Action(verb=Verb.SCORE, completed_only=completed_only)
            state, _ = await acted.one(action, task)
            assert state is OrderState.DONE
            await until(
                lambda: not long_eval.get(routes.task_score(task.task_id))["running"],
                "the pass is over",
            )
            done = long_eval.get(routes.task_score(task.task_id))
            assert done["completed_only"] is completed_only


async def test_a_flush_writes_what_waits_and_its_repeat_is_nothing(long_eval: Eval) -> None:
    """Flush has no dry run: its preview is worked out, and says so."""
    async with acting_on_eval(long_eval) as acted:
        task = await acted.task(long_eval, "turns")

        [running, *_] = _running(long_eval, "turns")
        action = Action(verb=Verb.CANCEL, manner="score")
        assert (await acted.one(action, SampleKey(task, running, 1)))[0] is OrderState.DONE

        def waiting() -> bool:
            return bool(long_eval.get(routes.task_config(task.task_id))["buffer"]["pending"])

        await until(waiting, "a finished sample waits for the log")
        plan = await acted.plan(Action(verb=Verb.FLUSH), task)
        [step] = plan.steps
        assert step.preview is not None
        assert step.preview.is_computed
        [report] = await acted.acting.carry_out(plan, yes=True)
        assert report.outcome is not None
        assert report.outcome.state is OrderState.DONE
        assert not waiting()
        assert (await acted.one(Action(verb=Verb.FLUSH), task))[0] is OrderState.NO_CHANGE
