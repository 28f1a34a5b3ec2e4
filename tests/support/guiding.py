"""Guides over real evals."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from core.act.executor import OrderReport
from core.guide.guide import Guide, StepState
from core.guide.runner import GuideRunner
from core.model.order import Instance
from storage.database import Database
from storage.guides import Guides
from tests.support.acting import Acted, acting_on
from tests.support.desk_on_evals import this_computer
from tests.support.evals import Eval, environment
from tests.support.orders import HERE, Book
from tests.support.waiting import EVAL_S, WAIT_S, until

LATER = replace(HERE, pid=2, start="2")
"""The evalroom that was started after the first one ended."""


class Guided:
    """Guides, the hands under them, and what they sent."""

    def __init__(self, acted: Acted, guiding: GuideRunner) -> None:
        self.acted = acted
        self.guiding = guiding

    async def waits(self, guide: Guide, kind: str, seconds: float = WAIT_S) -> Guide:
        """Return the guide once a step of this kind waits for the operator."""

        def there() -> Guide | None:
            now = self.guiding.guide(guide.id)
            step = now.step if now is not None else None
            return now if now and now.waits and step and step.kind == kind else None

        try:
            return await until(there, f"{kind} waits", seconds)
        except AssertionError as error:
            raise AssertionError(lines(self.guiding.guide(guide.id))) from error

    async def over(self, guide: Guide, seconds: float = EVAL_S) -> Guide:
        """Return the guide once nothing more is to do."""

        def there() -> Guide | None:
            now = self.guiding.guide(guide.id)
            return now if now and not now.is_open else None

        try:
            return await until(there, "it is over", seconds)
        except AssertionError as error:
            raise AssertionError(lines(self.guiding.guide(guide.id))) from error

    async def go_on(self, guide: Guide) -> tuple[OrderReport, ...]:
        """Confirm the step that waits with all that it asks for."""
        plan = await self.guiding.plan(guide.id)
        if not plan.sent:
            return ()
        return await self.guiding.carry_out(guide.id, plan, words=plan.words, yes=True)


def lines(guide: Guide | None) -> str:
    """A guide for a failing test."""
    if guide is None:
        return "no guide"
    return "\n".join(f"{step.kind} {step.state}: {step.sentence}" for step in guide.steps)


def states(guide: Guide) -> list[StepState]:
    """The states of its steps."""
    return [step.state for step in guide.steps]


@asynccontextmanager
async def guided(
    database: Path,
    *evals: Eval,
    instance: Instance = HERE,
    alive: Sequence[Instance] = (),
    runs: Sequence[str] = (),
    book: Book | None = None,
    read_only: bool = False,
) -> AsyncGenerator[Guided]:
    """Run a desk, its hands and its guides over evals that share one data folder."""
    machine = this_computer(evals[0].data_dir)
    hosts = evals[0].folder / "known_hosts"
    async with (
        acting_on(
            [machine], hosts, runs=runs, book=book, instance=instance, read_only=read_only
        ) as acted,
        Database.at(database) as opened,
    ):
        kept = Guides(opened, alive=lambda each, _: each in alive)
        guiding = GuideRunner(acted.watched.desk, acted.acting, store=kept)
        running = asyncio.create_task(guiding.run())
        try:
            yield Guided(acted, guiding)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def in_a_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as an operator would, in a shell of no data folder and no working folder."""
    env = environment(folder, {})
    del env["XDG_DATA_HOME"]
    return await asyncio.to_thread(
        subprocess.run, ["/bin/sh", "-c", command], cwd="/", env=env, check=False,
        capture_output=True, text=True, timeout=WAIT_S,
    )  # fmt: skip
