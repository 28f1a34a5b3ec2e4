"""Fresh reads of processes, for plans and right before orders: few reads, with pauses."""

import asyncio
import math
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

FREE_LOOP_S = 2.0
"""Seconds of an eval's event loop that one plan may use before its reads are spaced out."""
PAUSE_FACTOR = 100.0
"""After that each read waits this many times as long as its answer took."""
MAX_PAUSE_S = 3.0
"""Maximum seconds of such a pause."""
ROWS_FRESH_S = 1.0
"""Seconds for which the task rows of a process need not be read again."""
_MAX_SURFACES = 500
"""Processes whose routes are remembered."""


class Throttle:
    """Spaces out the reads of one eval by one plan, so that the eval's event loop stays free.

    Args:
        hurry: Ends the pauses once it is set.
    """

    def __init__(self, hurry: asyncio.Event | None = None) -> None:
        self._hurry = asyncio.Event() if hurry is None else hurry
        self._used = 0.0

    async def after(self, took: float) -> None:
        """Pause after an answer that took this many seconds, if the plan has used its share."""
        self._used += took
        if self._used <= FREE_LOOP_S or self._hurry.is_set():
            return
        try:
            async with asyncio.timeout(min(took * PAUSE_FACTOR, MAX_PAUSE_S)):
                await self._hurry.wait()
        except TimeoutError:
            return


def unthrottled() -> Throttle:
    """Return a throttle without pauses, for confirmed orders."""
    hurry = asyncio.Event()
    hurry.set()
    return Throttle(hurry)


class SurfaceCache:
    """The routes of processes, each read once."""

    def __init__(self) -> None:
        self._surfaces: dict[ProcessKey, Surface] = {}

    def get(self, process: ProcessKey) -> Surface | None:
        """Return the routes of a process; None: not read yet."""
        return self._surfaces.get(process)

    def put(self, process: ProcessKey, surface: Surface) -> None:
        """Remember the routes of a process."""
        if len(self._surfaces) >= _MAX_SURFACES:
            self._surfaces.clear()
        self._surfaces[process] = surface


class FreshReader:
    """Reads the state that one plan, or one execution of a plan, depends on.

    Args:
        desk: Reads.
        surfaces: The routes that were read before.
    """

    def __init__(self, desk: ActionDesk, surfaces: SurfaceCache) -> None:
        self._desk = desk
        self._surfaces = surfaces
        self._rows: dict[ProcessKey, tuple[float, tuple[TaskRow, ...]]] = {}

    async def read(self, action: Action, target: Target, throttle: Throttle) -> TargetSnapshot:
        """Read the state that `action` on `target` depends on.

        Raises:
            RequestFailed: The process did not answer well.
            AnswerMalformed: Its answer can't be decoded.
        """
        process = process_of(target)
        if action.verb in {Verb.INTERRUPT, Verb.KILL}:
            return await self._for_signal(process, throttle)
        if action.verb is Verb.RECOVER:
            task = self._desk.fleet.tasks.get(target) if isinstance(target, TaskKey) else None
            return TargetSnapshot(rows=() if task is None else (task.row,), answers=False)
        rows = await self._read_rows(process, throttle)
        snapshot = TargetSnapshot(rows=rows, surface=await self.surface(process, throttle))
        if action.verb is Verb.CONFIG:
            known = self._desk.fleet.processes.get(process)
            argv = known.argv if known is not None else ()
            snapshot = replace(snapshot, config=await self._config(target, throttle), argv=argv)
        if isinstance(target, SampleKey):
            snapshot = await self._with_sample(snapshot, target, throttle)
        return snapshot

    def forget(self, process: ProcessKey) -> None:
        """Read the rows of a process again the next time: something was sent to it."""
        self._rows.pop(process, None)

    async def _for_signal(self, process: ProcessKey, throttle: Throttle) -> TargetSnapshot:
        known = self._desk.fleet.processes.get(process)
        if known is None or known.socket_path is None:
            return TargetSnapshot(answers=False)
        try:
            rows = await self._read_rows(process, throttle)
            running = [TaskKey(process, row.task_id) for row in rows if not row.is_completed]
            views = [await self._config(key, throttle) for key in running]
        except (RequestFailed, AnswerMalformed):
            return TargetSnapshot(answers=False)
        if not running:
            # Between two tasks of a set only the knobs say that others have not started yet.
            return TargetSnapshot(rows=rows, config=await self._process_config(process, throttle))
        return TargetSnapshot(rows=rows, config=max(views, key=_waiting))

    async def _process_config(self, process: ProcessKey, throttle: Throttle) -> ConfigView | None:
        try:
            return await self._config(process, throttle)
        except (RequestFailed, AnswerMalformed):
            return None

    async def _read_rows(self, process: ProcessKey, throttle: Throttle) -> tuple[TaskRow, ...]:
        at, rows = self._rows.get(process, (-math.inf, ()))
        if self._desk.monotonic() - at < ROWS_FRESH_S:
            return rows
        found = await reads.read_tasks(self._throttled(throttle), process)
        self._rows[process] = (self._desk.monotonic(), found.rows)
        return found.rows

    async def surface(self, process: ProcessKey, throttle: Throttle) -> Surface:
        """Return a process's routes, read once.

        Raises:
            RequestFailed, AnswerMalformed: The process does not list them.
        """
        known = self._surfaces.get(process)
        if known is None:
            reply = await self._throttled(throttle)(process, routes.OPENAPI)
            known = surface(good_body(reply, "the list of routes"))
            self._surfaces.put(process, known)
        return known

    async def _config(self, target: Target, throttle: Throttle) -> ConfigView:
        path = routes.PROCESS_CONFIG
        if isinstance(target, TaskKey):
            path = routes.task_config(target.task_id)
        reply = await self._throttled(throttle)(process_of(target), path)
        return config_view(good_body(reply, "the knobs", "task config"))

    async def _with_sample(
        self, snapshot: TargetSnapshot, target: SampleKey, throttle: Throttle
    ) -> TargetSnapshot:
        row = snapshot.row(target)
        if row is None:
            return snapshot
        try:
            detail = await reads.read_sample(self._throttled(throttle), target, row.eval_id)
        except Unsupported:
            raise
        except NotThere:  # it has not started
            return snapshot
        return replace(snapshot, sample=detail.sample)

    def _throttled(self, throttle: Throttle) -> reads.ReadFunction:
        async def read(process: ProcessKey, path: str) -> Reply:
            reply = await self._desk.read(process, path)
            await throttle.after(reply.took)
            return reply

        return read


def _waiting(view: ConfigView) -> float:
    """Return how many finished samples wait for the log; infinity where the count is unknown."""
    return math.inf if view.buffer is None or view.buffer.pending is None else view.buffer.pending
