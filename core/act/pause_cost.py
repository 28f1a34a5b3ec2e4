"""The cost of a `pause now`: the samples in flight, and the time that each has left."""

import asyncio
from collections.abc import Iterable

from core.act.ports import ActionDesk
from core.act.reader import Throttle
from core.act.snapshot import TargetSnapshot
from core.ctl import reads, routes
from core.ctl.answer_errors import good_body
from core.ctl.config_envelopes import config_view
from core.errors import AnswerMalformed, RequestFailed
from core.format import duration, plural
from core.ids import ModelKey, ProcessKey, SampleKey, Target, TaskKey
from core.model.sample import Sample
from core.model.task import TaskRow
from core.ports import Reply
from core.text import shown

_MAX_LISTED = 12
"""Samples of a task that are listed one by one."""
_HEADER_TIMEOUT_S = 20.0
"""Seconds that reading a log header may take."""
_MAX_REMEMBERED = 1_000
"""Attempts whose time limits are remembered."""


class TimeLimits:
    """The time limits of tasks at launch, read from each attempt's log header once."""

    def __init__(self, desk: ActionDesk) -> None:
        self._desk = desk
        self._launched: dict[tuple[TaskKey, str], int | None] = {}

    async def held_notes(
        self, target: Target, snapshot: TargetSnapshot, throttle: Throttle
    ) -> tuple[str, ...]:
        """Return a line for each sample in flight: the time it has left while it is held.

        Time limits keep running for a held sample, so a long pause can end it.
        """
        flying = [(key, row) for key, row in _tasks(target, snapshot) if row.samples.in_flight]
        found = await asyncio.gather(*(self._notes(key, row, throttle) for key, row in flying))
        return tuple(note for notes in found for note in notes)

    async def _notes(self, key: TaskKey, row: TaskRow, throttle: Throttle) -> list[str]:
        try:
            limit, known = await self._time_limit(key, row, throttle)
            running = await _running(self._desk, key, row, throttle)
        except (RequestFailed, AnswerMalformed) as error:
            return [f"{shown(row.task, 60)}: evalroom can't list its samples: {error.message}"]
        unknown = [] if known else [f"{shown(row.task, 60)}: its time limit is unknown"]
        return [*unknown, *_lines(running, limit, known=known)]

    async def _time_limit(
        self, key: TaskKey, row: TaskRow, throttle: Throttle
    ) -> tuple[int | None, bool]:
        """Return a task's time limit in seconds (None: no limit), and whether it is known."""
        reply = await self._desk.read(key.process, routes.task_config(key.task_id))
        await throttle.after(reply.took)
        view = config_view(good_body(reply, "the knobs", "task config"))
        override = view.limits.get("time_limit")
        if override is not None:
            return override, True
        attempt = (key, row.eval_id)
        if attempt not in self._launched:
            try:
                header = await self._desk.log_header(key, deadline=_HEADER_TIMEOUT_S)
            except RequestFailed:
                return None, False
            if len(self._launched) >= _MAX_REMEMBERED:
                self._launched.clear()
            self._launched[attempt] = header.time_limit
        return self._launched[attempt], True


def _tasks(target: Target, snapshot: TargetSnapshot) -> Iterable[tuple[TaskKey, TaskRow]]:
    match target:
        case TaskKey():
            row = snapshot.row(target)
            return [(target, row)] if row is not None else []
        case SampleKey():
            return []
        case ModelKey():
            rows = [row for row in snapshot.running if row.model == target.model]
            return [(TaskKey(target.process, row.task_id), row) for row in rows]
        case ProcessKey():
            return [(TaskKey(target, row.task_id), row) for row in snapshot.running]


async def _running(
    desk: ActionDesk, key: TaskKey, row: TaskRow, throttle: Throttle
) -> tuple[Sample, ...]:
    async def read(process: ProcessKey, path: str) -> Reply:
        reply = await desk.read(process, path)
        await throttle.after(reply.took)
        return reply

    found = await reads.read_samples(read, key, row.eval_id, status=("running",))
    return tuple(each for each in found.rows if each.status == "running")


def _lines(running: tuple[Sample, ...], limit: int | None, *, known: bool) -> list[str]:
    if not known or limit is None:
        in_flight = f"{plural(len(running), 'sample')} in flight"
        return [f"{in_flight} without a time limit"] if known else [in_flight]
    left = [(limit - each.total_time, each) for each in running if each.total_time is not None]
    lines = [
        f"sample {shown(each.sample_id, 40)}/{each.epoch}: {duration(max(seconds, 0))} left of"
        f" {duration(limit)}"
        for seconds, each in sorted(left, key=lambda pair: pair[0])
    ][:_MAX_LISTED]
    more = len(running) - len(lines)
    return [*lines, f"and {more} more"] if more > 0 else lines
