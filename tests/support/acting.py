"""Actions of an operator on real evals."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from core.act.executor import OrderReport
from core.act.plan import Plan
from core.act.ports import OrderStore
from core.act.service import ActionService
from core.act.target_expansion import ActionPlace
from core.config.model import MachineConfig
from core.frames import Frame
from core.ids import ProcessKey, TaskKey
from core.model.action import Action
from core.model.order import Instance, OrderState
from core.ports import MachineConnection, Reply
from tests.support.desk_on_evals import Watched, this_computer, watching
from tests.support.evals import Eval
from tests.support.orders import HERE, Book
from tests.support.waiting import EVAL_S

Found = TypeVar("Found")


class Acted:
    """A desk that may change things, its actions, and every request that left for the evals."""

    def __init__(
        self, watched: Watched, acting: ActionService, book: Book, wire: list[Frame]
    ) -> None:
        self.watched = watched
        self.acting = acting
        self.book = book
        self.wire = wire

    @property
    def sent(self) -> list[Frame]:
        """The frames that could change something: no reads, no dry runs."""
        return [
            frame
            for frame in self.wire
            if frame.kind == "signal"
            or (frame.kind == "send" and "dry_run=true" not in frame.head["path"])
        ]

    async def task(self, one: Eval, name: str | None = None) -> TaskKey:
        """The key of a task, once it is known."""

        def known() -> TaskKey | None:
            for task in self.watched.tasks(one):
                if name in {None, task.row.task}:
                    return task.key
            return None

        return await self.watched.until(known, f"task {name} of pid {one.pid}", EVAL_S)

    async def process(self, one: Eval) -> ProcessKey:
        """The key of an eval's process."""
        return await self.watched.key(one)

    async def plan(self, action: Action, *places: ActionPlace, reason: str = "") -> Plan:
        """Plan an action."""
        return await self.acting.plan(str(action.verb), action, places, reason=reason)

    async def do(
        self, action: Action, *places: ActionPlace, reason: str = ""
    ) -> tuple[OrderReport, ...]:
        """Plan, confirm with all that it asks for, carry out."""
        plan = await self.plan(action, *places, reason=reason)
        return await self.acting.carry_out(plan, words=plan.words, yes=True)

    async def one(
        self, action: Action, place: ActionPlace, *, reason: str = ""
    ) -> tuple[OrderState, str]:
        """Do it to one target; return the outcome."""
        [report] = await self.do(action, place, reason=reason)
        assert report.outcome is not None, report
        return report.outcome.state, report.outcome.message


@asynccontextmanager
async def acting_on(
    machines: Sequence[MachineConfig],
    known_hosts: Path,
    *,
    runs: Sequence[str] = (),
    book: Book | None = None,
    journal: OrderStore | None = None,
    read_only: bool = False,
    instance: Instance = HERE,
) -> AsyncGenerator[Acted]:
    """Run a desk and its actions over machines for the block; `journal` replaces `book`."""
    async with watching(machines, known_hosts, read_only=read_only) as watched:
        desk = watched.desk
        wire: list[Frame] = []
        for connection in desk.connections:
            _tap(connection, wire)
        kept = Book() if book is None else book
        keeps = kept if journal is None else journal
        acting = ActionService(desk, instance=instance, store=keeps, runs=runs, post=desk.post)
        running = asyncio.create_task(acting.run())
        try:
            yield Acted(watched, acting, kept, wire)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


@asynccontextmanager
async def acting_on_eval(
    one: Eval, *, runs: Sequence[str] = (), read_only: bool = False
) -> AsyncGenerator[Acted]:
    """Run a desk and its actions over one eval of this computer."""
    machine = this_computer(one.data_dir)
    known_hosts = one.folder / "known_hosts"
    async with acting_on([machine], known_hosts, runs=runs, read_only=read_only) as acted:
        yield acted


def _tap(connection: MachineConnection, wire: list[Frame]) -> None:
    """Remember every request that a connection is given."""
    request = connection.request

    async def received(frame: Frame, *, deadline: float) -> Reply:
        wire.append(frame)
        return await request(frame, deadline=deadline)

    connection.request = received  # type: ignore[method-assign]
