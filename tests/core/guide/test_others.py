"""Each guide on someone else's eval asks for that, and on a read-only machine sends nothing."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from core.errors import NotConfirmed
from core.guide.guide import Guide
from tests.support.evals import Eval, Evals
from tests.support.guiding import Guided, guided
from tests.support.waiting import until

pytestmark = pytest.mark.xdist_group("guides")


@pytest.fixture
def theirs(evals: Evals) -> Eval:
    """An eval that this operator did not launch."""
    return evals.start(
        "turns", args={"samples": 50, "turns": 100}, options=("--max-samples=2",)
    ).wait_ready()


async def guides_of(here: Guided, one: Eval) -> Mapping[str, Callable[[], Awaitable[Guide]]]:
    """Return what starts each guide that begins with an order to this eval, by its name."""
    key, task = await here.acted.process(one), await here.acted.task(one)
    model = here.acted.watched.fleet.tasks[task].row.model
    return {
        "interrupt": lambda: here.guiding.interrupt(key),
        "incident": lambda: here.guiding.incident(model),
        "incident, now": lambda: here.guiding.incident(model, now=True),
        "finish": lambda: here.guiding.finish(task),
    }


async def waiting(here: Guided, guide: Guide) -> None:
    """Wait until a step of a guide waits for the operator."""

    def waits() -> bool:
        now = here.guiding.guide(guide.id)
        return now is not None and now.waits

    await until(waits, f"{guide.kind} waits", 30)


@pytest.fixture
async def here(theirs: Eval, tmp_path: Path) -> AsyncGenerator[Guided]:
    async with guided(tmp_path / "h.sqlite3", theirs) as guiding:
        yield guiding


async def test_every_guide_asks_before_it_touches_the_eval_of_someone_else(
    here: Guided, theirs: Eval
) -> None:
    for name, begin in (await guides_of(here, theirs)).items():
        guide = await begin()
        await waiting(here, guide)
        plan = await here.guiding.plan(guide.id)
        assert plan.sent, name
        assert plan.others == len(plan.sent), name
        assert plan.confirmation in {"yes", "words"}, name
        with pytest.raises(NotConfirmed, match=r"someone else|type .* to confirm"):
            await here.guiding.carry_out(guide.id, plan)
        assert here.acted.sent == [], name
        await here.guiding.stop(guide.id)
    assert not theirs.task()["paused"]


async def test_no_guide_sends_anything_to_a_read_only_machine(theirs: Eval, tmp_path: Path) -> None:
    async with guided(tmp_path / "h.sqlite3", theirs, read_only=True) as here:
        for name, begin in (await guides_of(here, theirs)).items():
            guide = await begin()
            await waiting(here, guide)
            plan = await here.guiding.plan(guide.id)
            assert plan.sent == (), name
            assert all("read-only" in str(step.refusal) for step in plan.steps), name
            await here.guiding.carry_out(guide.id, plan, words=plan.words, yes=True)
            assert here.acted.sent == [], name
    assert not theirs.task()["paused"]
