"""Interrupting safely on real evals: the shown command resumes them, and nothing is lost."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from core.guide.guide import Guide, StepKind, StepState
from tests.support.evals import Eval, Evals
from tests.support.guiding import LATER, Guided, guided, in_a_shell, lines, states
from tests.support.orders import Book
from tests.support.waiting import wait_until

pytestmark = pytest.mark.xdist_group("guides")
_DONE = StepState.DONE


def gate_of(evals: Evals) -> Path:
    """The file for which all samples but the first two wait."""
    return evals.folder / "gate"


def started(evals: Evals, *, eval_set: bool) -> Eval:
    """An eval of twelve samples, two at a time."""
    args = {"samples": 12, "seconds": 0.5, "gate": gate_of(evals), "free": 2}
    return evals.start(
        "quiet", eval_set=eval_set, args=args,
        options=("--model", "mockllm/model", "--max-samples=2"),
    ).wait_ready()  # fmt: skip


def logs_of(one: Eval) -> list[Path]:
    return sorted(one.log_dir.glob("*.eval"))


async def runs_of_each_sample(one: Eval) -> Counter[str]:
    """How often each sample ran to its end, over all attempts whose work was kept."""
    from inspect_ai.log import read_eval_log

    logs = await asyncio.to_thread(lambda: [read_eval_log(str(path)) for path in logs_of(one)])
    uuids = {
        (str(sample.id), sample.uuid)
        for log in logs
        for sample in log.samples or ()
        if sample.error is None and sample.scores
    }
    return Counter(name for name, _ in uuids)


async def interrupted(here: Guided, evals: Evals, one: Eval) -> Guide:
    """Interrupt an eval safely, as an operator who confirms each step."""
    key = await here.acted.process(one)
    await here.acted.watched.until(
        lambda: one.task()["samples"]["completed"] >= 2, "two samples are finished"
    )
    guide = await here.guiding.interrupt(key)
    assert guide.command, lines(guide)
    for kind in (StepKind.PAUSE, StepKind.FLUSH, StepKind.INTERRUPT):
        guide = await here.waits(guide, kind)
        await here.go_on(guide)
        gate_of(evals).touch()  # the process is paused: the two in flight go on to their end
    return await here.over(guide)


async def resumed(guide: Guide, one: Eval) -> None:
    """Run the command that the guide shows, and wait until that run is over."""
    done = await in_a_shell(guide.command, one.folder)
    assert done.returncode == 0, (guide.command, done.stdout, done.stderr)
    launch = json.loads(done.stdout.splitlines()[0])
    assert launch["event"] == "launch", done.stdout
    output = Path(launch["output_file"])

    def ended() -> bool:
        lines = output.read_text().splitlines()
        return any(json.loads(line)["event"] == "done" for line in lines if line.startswith("{"))

    await asyncio.to_thread(wait_until, ended, "the resumed run is over", 90)


@pytest.mark.parametrize(
    "eval_set",
    [
        pytest.param(True, id="eval-set"),
        pytest.param(False, id="eval", marks=pytest.mark.slow),
    ],
)
async def test_a_parked_run_resumes_by_the_shown_command_with_nothing_lost_and_nothing_twice(
    evals: Evals, tmp_path: Path, eval_set: bool
) -> None:
    one = started(evals, eval_set=eval_set)
    async with guided(tmp_path / "h.sqlite3", one) as here:
        guide = await interrupted(here, evals, one)
        assert states(guide) == [_DONE] * 6, lines(guide)
        assert "cancelled" in guide.steps[-1].sentence
        assert [frame.head.get("path") or frame.kind for frame in here.acted.sent] == [
            "/pause", f"/tasks/{here.acted.watched.tasks(one)[0].key.task_id}/log-flush", "signal",
        ]  # fmt: skip
    before = await runs_of_each_sample(one)
    assert 2 <= len(before) < 12
    await resumed(guide, one)
    after = await runs_of_each_sample(one)
    assert after == Counter(f"s{n:03d}" for n in range(1, 13))
    assert set(before) <= set(after)


@pytest.mark.slow
async def test_after_a_restart_it_goes_on_where_it_stood_and_sent_nothing_by_itself(
    evals: Evals, tmp_path: Path
) -> None:
    one = started(evals, eval_set=True)
    book = Book()
    async with guided(tmp_path / "h.sqlite3", one, book=book) as here:
        key = await here.acted.process(one)
        guide = await here.guiding.interrupt(key)
        await here.go_on(await here.waits(guide, StepKind.PAUSE))
    gate_of(evals).touch()
    async with guided(tmp_path / "h.sqlite3", one, book=book, instance=LATER) as here:
        await here.acted.process(one)
        [found] = await here.guiding.recent()
        assert (found.id, found.is_open, found.command) == (guide.id, True, guide.command)
        assert here.guiding.guides == ()
        taken = await here.guiding.take_over(guide.id)
        await here.waits(taken, StepKind.FLUSH)
        await here.acted.watched.goes_on()
        assert not here.acted.sent
        await here.go_on(taken)
        await here.go_on(await here.waits(taken, StepKind.INTERRUPT))
        ended = await here.over(taken)
        assert states(ended) == [_DONE] * 6, lines(ended)
        assert [frame.kind for frame in here.acted.sent] == ["send", "signal"]


@pytest.mark.slow
async def test_without_a_known_command_it_pauses_and_flushes_and_interrupts_nothing(
    evals: Evals, tmp_path: Path
) -> None:
    one = evals.start(
        "turns",
        args={"samples": 12, "gate": gate_of(evals)},
        options=("--max-samples=2", "-M", "secret=1"),
    ).wait_ready()
    async with guided(tmp_path / "h.sqlite3", one) as here:
        key = await here.acted.process(one)
        guide = await here.guiding.interrupt(key)
        assert not guide.command
        assert "withheld" in guide.steps[0].sentence
        await here.go_on(await here.waits(guide, StepKind.PAUSE))
        gate_of(evals).touch()
        await here.go_on(await here.waits(guide, StepKind.FLUSH))
        ended = await here.over(guide)
        assert ended.steps[4].state is StepState.STOPPED
        assert ended.steps[5].state is StepState.SKIPPED
        assert all(frame.kind != "signal" for frame in here.acted.sent)
        assert one.popen.poll() is None
        assert one.task()["process_paused"]


@pytest.mark.slow
async def test_a_process_resumed_before_the_interrupt_is_waited_for_again(
    evals: Evals, tmp_path: Path
) -> None:
    one = started(evals, eval_set=False)
    async with guided(tmp_path / "h.sqlite3", one) as here:
        guide = await here.guiding.interrupt(await here.acted.process(one))
        await here.go_on(await here.waits(guide, StepKind.PAUSE))
        gate_of(evals).touch()
        await here.waits(guide, StepKind.FLUSH)
        gate_of(evals).unlink()  # the samples that start from now on wait
        await asyncio.to_thread(one.resume)

        def quiesces() -> bool:
            now = here.guiding.guide(guide.id)
            step = now.step if now is not None else None
            return step is not None and step.kind is StepKind.QUIESCE and "resumed" in step.sentence

        await here.acted.watched.until(quiesces, "it waits again")
        left = await here.guiding.stop(guide.id)
        assert states(left)[2] is StepState.STOPPED
