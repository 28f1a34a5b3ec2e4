"""The step of the clean-up guide that removes containers: its offers and its refusals."""

from dataclasses import replace

import pytest

from core.errors import NotConfirmed, UsageWrong
from core.fleet import Fleet
from core.guide.factories import cleanup_guide
from core.guide.guide import Guide, StepKind, StepState
from core.model.machine import UnlistedEval
from tests.support.coroutines import run_async
from tests.support.fleets import H1, NOW
from tests.support.leftovers import Desk, fleet_with, left, read, runner_on
from tests.support.orders import HERE

LATER_S = 10.0


def made(fleet: Fleet) -> Guide:
    return cleanup_guide(fleet, None, frozenset(), NOW, HERE, others=False)


def test_a_guide_offers_what_no_eval_holds_and_nothing_else() -> None:
    held = left(9, project="inspect-gdm_intercod-iabc129", created=NOW - 50.0)
    assert held.holder is not None
    held = replace(held, holder=replace(held.holder, is_alive=True))
    unknown = left(8, holder=None)
    guide = made(fleet_with(read(left(1), left(2), held, unknown)))
    [step] = guide.steps
    assert (step.kind, step.machine, guide.targets) == (StepKind.CONTAINERS, H1, ())
    assert step.containers == (left(1).id, left(2).id)
    assert guide.name == "2 leftover containers"


def test_without_leftovers_or_on_a_read_only_machine_there_is_nothing_to_do() -> None:
    with pytest.raises(UsageWrong, match="no container is left over"):
        made(fleet_with(read()))
    fleet = fleet_with(read(left(1)))
    machine = replace(fleet.machines[H1], read_only=True)
    with pytest.raises(UsageWrong):
        made(replace(fleet, machines={H1: machine}))


def test_without_an_offer_it_says_what_may_hold_the_others() -> None:
    notebook = UnlistedEval(pid=812, name="python3 ipykernel_launcher")
    unlisted = read(left(1, holder=None), unlisted=(notebook,))
    with pytest.raises(UsageWrong) as refused:
        made(fleet_with(unlisted))
    assert "process 812 (python3 ipykernel_launcher)" in (refused.value.advice or "")


def test_exactly_what_was_previewed_is_removed_once_its_words_are_typed() -> None:
    desk = Desk(fleet_with(read(left(1), left(2))))

    async def work() -> None:
        runner = runner_on(desk)
        guide = await runner.cleanup()
        removal = await runner.removal(guide.id)
        assert removal.words == "remove 2"
        assert removal.lines[-1] == f"docker rm --force --volumes {left(1).id} {left(2).id}"
        with pytest.raises(NotConfirmed):
            await runner.remove_containers(guide.id, removal, words="yes")
        assert desk.jobs == []
        reports = await runner.remove_containers(guide.id, removal, words="remove 2")
        assert reports == "2 containers removed by Ada"
        ended = runner.guide(guide.id)
        assert ended is not None
        assert [step.state for step in ended.steps] == [StepState.DONE]
        assert not ended.is_open

    run_async(work())
    [job] = desk.jobs
    assert job.given == {"containers": {each.id: each.project for each in (left(1), left(2))}}


def test_a_container_that_an_eval_may_hold_by_now_is_not_removed() -> None:
    desk = Desk(fleet_with(read(left(1), left(2))))

    async def work() -> None:
        runner = runner_on(desk)
        guide = await runner.cleanup()
        removal = await runner.removal(guide.id)
        found = left(2)
        assert found.holder is not None
        lives = replace(found, holder=replace(found.holder, is_alive=True))
        desk.fleet = fleet_with(read(left(1), lives))
        with pytest.raises(UsageWrong):
            await runner.remove_containers(guide.id, removal, words=removal.words)

    run_async(work())
    assert desk.jobs == []


def test_the_step_is_over_once_someone_else_removed_them() -> None:
    desk = Desk(fleet_with(read(left(1))))

    async def work() -> None:
        runner = runner_on(desk)
        guide = await runner.cleanup()
        assert guide.steps[0].sentence == "1 container left, held by no eval"
        desk.fleet = fleet_with(read(left(1)), read(at=NOW + LATER_S))
        assert (await runner.refresh(guide.id)).steps[0].sentence == "all of them are gone"

    run_async(work())
