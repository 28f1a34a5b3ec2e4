"""Fresh looks at processes, for plans and right before orders: few reads, kindly spaced."""

import asyncio
import math
import time
from dataclasses import replace

from core.act.ports import ActionDesk
from core.act.snapshot import TargetSnapshot
from core.ctl import reads, routes
from core.ctl.answer_errors import good_body
from core.ctl.config_envelopes import config_view
from core.ctl.features import Surface, surface
from core.errors import AnswerMalformed, NotThere, RequestFailed, Unsupported
from core.ids import ProcessKey, SampleKey, Target, TaskKey, process_of
from core.model.action import Action, Verb
from core.model.knobs import ConfigView
from core.model.task import TaskRow
from core.ports import Reply

BURST = 2.0
"""Seconds of an eval's loop that one plan may take at once, before it goes slowly."""
SHARE = 100.0
"""After that it waits this many times as long as each answer took."""
LONGEST_PAUSE = 3.0
FRESH = 1.0
"""Seconds for which the rows of a process need not be read again."""
_SURFACES_KEPT = 500


def unthrottled() -> "Throttle":
    """Return a pace without pauses: what was confirmed does not wait."""
    hurry = asyncio.Event()
    hurry.set()
    return Throttle(hurry)


class Throttle:
    """Keeps a plan's share of one eval's loop small; `hurry` lets it go at once."""

    def __init__(self, hurry: asyncio.Event | None = None) -> None:
        self._hurry = asyncio.Event() if hurry is None else hurry
        self._spent = 0.0

    async def after(self, took: float) -> None:
        """Wait as long as an answer that took so many seconds asks for."""
        self._spent += took
        if self._spent <= BURST or self._hurry.is_set():
            return
        try:
            async with asyncio.timeout(min(took * SHARE, LONGEST_PAUSE)):
                await self._hurry.wait()
        except TimeoutError:
            return


class FreshReader:
    """Looks of one plan or of one carrying out."""

    def __init__(self, asker: ActionDesk, surfaces: dict[ProcessKey, Surface]) -> None:
        self._asker = asker
        self._surfaces = surfaces
        self._rows: dict[ProcessKey, tuple[float, tuple[TaskRow, ...]]] = {}

    async def seen(self, action: Action, target: Target, pace: Throttle) -> TargetSnapshot:
        """Look at what `action` on `target` depends on.

        Raises:
            RequestFailed: The process did not answer well.
            AnswerMalformed: It answered what is no answer.
        """
        process = process_of(target)
        if action.verb in {Verb.INTERRUPT, Verb.END}:
            return await self._for_signal(process, pace)
        rows = await self._read_rows(process, pace)
        seen = TargetSnapshot(rows=rows, surface=await self.surface(process, pace))
        if action.verb is Verb.CONFIG:
            known = self._asker.fleet.processes.get(process)
            argv = known.argv if known is not None else ()
            seen = replace(seen, config=await self._config(target, pace), argv=argv)
        if isinstance(target, SampleKey):
            seen = await self._with_sample(seen, target, pace)
        return seen

    def forget(self, process: ProcessKey) -> None:
        """Read a process anew the next time: something was sent to it."""
        self._rows.pop(process, None)

    async def _for_signal(self, process: ProcessKey, pace: Throttle) -> TargetSnapshot:
        known = self._asker.fleet.processes.get(process)
        if known is None or known.socket_path is None:
            return TargetSnapshot(answers=False)
        try:
            rows = await self._read_rows(process, pace)
            running = [TaskKey(process, row.task_id) for row in rows if not row.is_completed]
            views = [await self._config(key, pace) for key in running]
        except (RequestFailed, AnswerMalformed):
            return TargetSnapshot(answers=False)
        if not running:
            # Between two tasks of a set: only the knobs tell that others are yet to start.
            return TargetSnapshot(rows=rows, config=await self._process_config(process, pace))
        return TargetSnapshot(rows=rows, config=max(views, key=_waiting))

    async def _process_config(self, process: ProcessKey, pace: Throttle) -> ConfigView | None:
        try:
            return await self._config(process, pace)
        except (RequestFailed, AnswerMalformed):
            return None

    async def _read_rows(self, process: ProcessKey, pace: Throttle) -> tuple[TaskRow, ...]:
        at, rows = self._rows.get(process, (-FRESH, ()))
        if time.monotonic() - at < FRESH:
            return rows
        found = await reads.read_tasks(self._paced(pace), process)
        self._rows[process] = (time.monotonic(), found.rows)
        return found.rows

    async def surface(self, process: ProcessKey, pace: Throttle) -> Surface:
        """Return a process's routes, read once.

        Raises:
            RequestFailed, AnswerMalformed: It does not tell them.
        """
        known = self._surfaces.get(process)
        if known is None:
            reply = await self._paced(pace)(process, routes.OPENAPI)
            known = surface(good_body(reply, "its list of routes"))
            if len(self._surfaces) >= _SURFACES_KEPT:
                self._surfaces.clear()
            self._surfaces[process] = known
        return known

    async def _config(self, target: Target, pace: Throttle) -> ConfigView:
        path = routes.PROCESS_CONFIG
        if isinstance(target, TaskKey):
            path = routes.task_config(target.task_id)
        reply = await self._paced(pace)(process_of(target), path)
        return config_view(good_body(reply, "its knobs", "task config"))

    async def _with_sample(
        self, seen: TargetSnapshot, target: SampleKey, pace: Throttle
    ) -> TargetSnapshot:
        row = seen.row(target)
        if row is None:
            return seen
        try:
            detail = await reads.read_sample(self._paced(pace), target, row.eval_id)
        except Unsupported:
            raise
        except NotThere:  # it has not started
            return seen
        return replace(seen, sample=detail.sample)

    def _paced(self, pace: Throttle) -> reads.ReadFunction:
        async def read(process: ProcessKey, path: str) -> Reply:
            reply = await self._asker.read(process, path)
            await pace.after(reply.took)
            return reply

        return read


def _waiting(view: ConfigView) -> float:
    """Return how many finished samples wait for a log; one that does not tell may hold any."""
    return math.inf if view.buffer is None or view.buffer.pending is None else view.buffer.pending
