"""A provider's incident over two processes, finishing early, cleaning up: on real evals."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UsageWrong
from core.guide.guide import StepKind, StepState
from core.ids import ModelKey, ProcessKey
from core.model.action import Action, Verb
from core.model.order import OrderState
from core.model.process import ProcessState
from tests.support.evals import Eval, Evals, running_evals
from tests.support.guiding import LATER, Guided, guided, lines, states
from tests.support.orders import Book

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("guides")]
MODEL = "mock/talker"


def started(evals: Evals, data_dir: Path) -> Eval:
    return evals.start(
        "turns", data_dir=data_dir, args={"samples": 200, "turns": 100},
        options=("--max-samples=2",),
    )  # fmt: skip


@pytest.fixture
def three() -> Iterator[tuple[Eval, Eval, Eval]]:
    """Three processes of one data folder that run one model."""
    with running_evals() as evals:
        found = [started(evals, evals.folder / "d") for _ in range(3)]
        for one in found:
            one.wait_ready().wait_rows(bool)
        yield found[0], found[1], found[2]


async def until_parked(here: Guided, key: ProcessKey) -> None:
    fleet = here.acted.watched
    await fleet.until(lambda: fleet.fleet.processes[key].state is ProcessState.PARKED, "it parks")


def paused(one: Eval) -> bool:
    return MODEL in one.task()["paused_models"]


async def test_only_pauses_of_this_guide_are_resumed_after_a_restart(
    three: tuple[Eval, Eval, Eval], tmp_path: Path
) -> None:
    before, killed, ours = three
    await asyncio.to_thread(before.post, f"/models/pause?model={MODEL}")
    await asyncio.to_thread(ours.pause)  # someone else's own latch
    book = Book()
    async with guided(tmp_path / "h.sqlite3", *three, book=book) as here:
        for one in three:
            await here.acted.process(one)
        guide = await here.guiding.incident(MODEL)
        assert len(guide.targets) == 3
        assert not here.acted.sent
        await here.go_on(await here.waits(guide, StepKind.PAUSE))
        guide = await here.waits(guide, StepKind.RESUME)
        assert guide.steps[0].sentence == "2 paused by this guide, 1 already paused"
        assert all(map(paused, three))
    killed.kill()
    async with guided(tmp_path / "h.sqlite3", *three, book=book, instance=LATER) as here:
        for one in (before, ours):
            await here.acted.process(one)
        guide = await here.guiding.take_over(guide.id)
        assert guide.step is not None
        assert guide.step.kind is StepKind.RESUME
        assert not here.acted.sent
        reports = await here.go_on(guide)
        states_by_target = {
            each.step.target: each.outcome and each.outcome.state for each in reports
        }
        mine = ModelKey(await here.acted.process(ours), MODEL)
        assert states_by_target[mine] is OrderState.DONE
        ended = await here.over(guide)
        assert ended.steps[1].sentence == "1 resumed, 1 gone (the process has ended)", lines(ended)
        assert len(here.acted.sent) == 1
    assert paused(before), "what was paused before the incident stays so"
    assert not paused(ours)
    assert ours.task()["process_paused"], "someone else's own pause stays"


async def test_a_pause_that_someone_changed_meanwhile_is_left_as_it_is(
    evals: Evals, tmp_path: Path
) -> None:
    one = started(evals, evals.folder / "d").wait_ready()
    async with guided(tmp_path / "h.sqlite3", one) as here:
        await here.acted.process(one)
        guide = await here.guiding.incident(MODEL)
        await here.go_on(guide)
        guide = await here.waits(guide, StepKind.RESUME)
        await asyncio.to_thread(one.post, f"/models/pause?model={MODEL}&now=true")
        assert await here.go_on(guide) == ()
        ended = await here.over(guide)
        assert "someone else changed" in ended.steps[1].sentence
        assert paused(one)
        assert len(here.acted.sent) == 1


async def test_finishing_early_goes_one_step_with_each_key(evals: Evals, tmp_path: Path) -> None:
    one = started(evals, evals.folder / "d").wait_ready()
    one.wait_rows(lambda rows: rows[0]["samples"]["in_flight"] == 2)
    async with guided(tmp_path / "h.sqlite3", one) as here:
        task = await here.acted.task(one)
        guide = await here.guiding.finish(task)
        plan = await here.guiding.plan(guide.id)
        assert plan.words == "turns"
        await here.guiding.carry_out(guide.id, plan, words=plan.words, yes=True)
        guide = await here.waits(guide, StepKind.SCORE)
        await here.acted.watched.until(
            lambda: "abandoned" in here.guiding.guides[0].steps[1].sentence, "what is left is shown"
        )
        await here.acted.watched.goes_on()
        assert len(here.acted.sent) == 1, "it goes no further by itself"
        await here.go_on(guide)
        ended = await here.over(guide)
        assert ended.steps[1].state is StepState.DONE
        assert ended.steps[2].state is StepState.SKIPPED, lines(ended)
        assert "log status: success" in ended.steps[3].sentence
        assert len(here.acted.sent) == 2


async def test_cleaning_up_asks_for_each_and_for_others_only_with_the_option(
    evals: Evals, tmp_path: Path
) -> None:
    data_dir = evals.folder / "d"
    parked = [
        evals.start("quiet", data_dir=data_dir, keep=True, args={"samples": 1, "seconds": 0.1},
                    options=("--model", "mockllm/model"))
        for _ in range(2)
    ]  # fmt: skip
    for one in parked:
        one.wait_ready().wait_finished()
    async with guided(tmp_path / "h.sqlite3", *parked) as here:
        for one in parked:
            key = await here.acted.process(one)
            await until_parked(here, key)
        with pytest.raises(UsageWrong, match="but launched by someone else"):
            await here.guiding.cleanup()
        guide = await here.guiding.cleanup(others=True)
        assert [step.kind for step in guide.steps] == [StepKind.RELEASE] * 2
        plan = await here.guiding.plan(guide.id)
        assert [step.action for step in plan.sent] == [Action(verb=Verb.RELEASE)]
        await here.guiding.carry_out(guide.id, plan, yes=True)
        guide = await here.guiding.skip(guide.id)
        assert states(guide) == [StepState.DONE, StepState.SKIPPED]
        [sent] = here.acted.sent
        assert sent.head["pid"] == guide.targets[0].process.pid
        left = next(one for one in parked if one.pid != sent.head["pid"])
        assert left.popen.poll() is None
