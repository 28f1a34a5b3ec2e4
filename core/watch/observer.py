"""The observer of one machine: what is heard becomes events, what is known becomes looks.

It does no I/O. Its only memory is what the probe was told to look at and what it last said of
each process; both are forgotten when a probe starts.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from core.config.model import WatchConfig
from core.ctl.decode import JsonObject, as_number, count, items, number, text
from core.ctl.envelopes import sample_rows, score_metrics, task_rows
from core.ctl.routes import AS_OF
from core.errors import AnswerMalformed
from core.events import (
    Event,
    LinkChanged,
    LinkHeard,
    LooksUnchanged,
    MachineRead,
    ProbeAnswered,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.machine import LinkState
from core.model.sample import SampleCounts, SampleStatus
from core.ports import Heard
from core.text import shown
from core.watch.machine_facts import read_facts, read_hello
from core.watch.polls import WHOLE_EVERY, Poll, aims, disagrees
from core.watch.process_list import ProcessReport, process_reports

HEARD_EVERY = 3.0
"""Shortest time between two `LinkHeard`, seconds."""
RELOAD_EVERY = 15.0
RELOAD_FOCUSED = 5.0
"""Shortest time between two whole reads of a task's list for counts that disagree, seconds."""
_OK = 200
_CHANNEL = frozenset({"refused", "no socket", "reset"})
"""Troubles of the whole control server: the process's state tells them."""
_NO_SCORE = "http 404"
"""What a task that was never scored in between answers; also an Inspect without the route."""

LookKey = tuple[ProcessKey, str]


class Observer:
    """Watches one machine through its probe.

    Args:
        machine: Whose frames are heard.
        config: Cadences.
    """

    def __init__(self, machine: MachineName, config: WatchConfig) -> None:
        self._machine = machine
        self._config = config
        self._set: dict[LookKey, Poll] = {}
        self._answered: set[LookKey] = set()
        self._told: dict[ProcessKey, ProcessReport] = {}
        self._said: dict[ProcessKey, ProcessSeen | None] = {}
        self._calm: dict[ProcessKey, ProcessReport] = {}
        self._refused: dict[ProcessKey, float] = {}
        self._failed: dict[LookKey, str] = {}
        self._reloads: dict[TaskKey, int] = {}
        self._read_whole: dict[TaskKey, float] = {}
        self._missed: set[TaskKey] = set()
        self._heard_at = 0.0

    def hear(self, heard: Heard, at: float) -> tuple[Event, ...]:
        """Return the events that follow from what was heard at `at`, Unix seconds at the desk."""
        if isinstance(heard, LinkChanged):
            if heard.state is not LinkState.UP:
                return (heard,)
            self._heard_at = at
            return (heard,)
        return (*self._link_heard(at), *self._frame(heard, at))

    def frames(self, fleet: Fleet, focus: TaskKey | None, at: float) -> tuple[Frame, ...]:
        """Return the frames that bring the probe's looks in line with what is wanted now."""
        self._reload_where_wrong(fleet, focus, at)
        wanted = {
            (aim.process, aim.name): aim
            for aim in aims(
                fleet,
                (key for key, one in self._told.items() if one.alive),
                focus=focus,
                now=at,
                config=self._config,
                reloads=self._reloads,
            )
        }
        frames: list[Frame] = []
        for key in [key for key in self._set if key not in wanted]:
            self._drop(key)
            frames.append(Frame("unwatch", {**_place(key[0]), "name": key[1]}))
        for key, aim in wanted.items():
            former = self._set.get(key)
            if former is not None and (former.path, former.every) == (aim.path, aim.every):
                continue
            self._set[key] = aim
            frames.append(
                Frame(
                    "watch",
                    {
                        **_place(aim.process),
                        "name": aim.name,
                        "path": aim.path,
                        "every": aim.every,
                        "as_of": None,
                    },
                )
            )
        return tuple(frames)

    # -- frames

    def _frame(self, frame: Frame, at: float) -> tuple[Event, ...]:
        try:
            return tuple(self._events(frame, at))
        except AnswerMalformed:
            return ()

    def _events(self, frame: Frame, at: float) -> Iterator[Event]:
        match frame.kind:
            case "hello":
                self._forget()
                yield ProbeAnswered(at=at, machine=self._machine, probe=read_hello(frame.head, at))
            case "processes":
                yield from self._processes(frame, at)
            case "answer":
                yield from self._answer(frame, at)
            case "beat":
                yield from self._states(number(frame.head, "at") or at, at)
                yield from self._looks(frame.head, at)
            case "trouble":
                yield from self._trouble(frame.head, at)
            case "facts":
                yield MachineRead(at=at, machine=self._machine, facts=read_facts(frame.body))
            case _:
                return

    def _link_heard(self, at: float) -> Iterator[Event]:
        if at - self._heard_at >= HEARD_EVERY:
            self._heard_at = at
            yield LinkHeard(at=at, machine=self._machine)

    def _forget(self) -> None:
        self._set.clear()
        self._answered.clear()
        self._failed.clear()
        self._told.clear()

    def _drop(self, key: LookKey) -> None:
        self._set.pop(key, None)
        self._answered.discard(key)
        self._failed.pop(key, None)

    # -- processes

    def _processes(self, frame: Frame, at: float) -> Iterator[Event]:
        clock = number(frame.head, "at") or at
        listed = {
            one.seen.process: one
            for one in process_reports(self._machine, frame.body, clock=clock, at=at)
        }
        # What was known before this probe started and is no longer there went meanwhile.
        for key in [key for key in self._said if key not in listed]:
            self._refused.pop(key, None)
            if self._said.pop(key) is not None:
                yield ProcessGone(at=at, process=key)
        self._told = listed
        self._calm.clear()
        yield from self._states(clock, at)

    def _states(self, clock: float, at: float) -> Iterator[Event]:
        """Say what changed about processes; waiting becomes busy and then starved by itself."""
        for key, one in self._told.items():
            if self._calm.get(key) is one:
                continue  # it was said, and time alone changes nothing about it
            if one.is_refused:
                self._refused.setdefault(key, clock)
            else:
                self._refused.pop(key, None)
            now = one.at_time(clock, at, refused_since=self._refused.get(key, clock))
            said = self._said.get(key)
            if said is None:
                if key in self._said:
                    continue  # it is gone, and that was said
                yield now  # also one that came and went between two looks
            elif one.alive and replace(now, at=said.at) != said:
                yield now
            self._said[key] = now if one.alive else None
            if one.is_calm:
                self._calm[key] = one
            if not one.alive:
                yield ProcessGone(at=at, process=key)

    # -- answers

    def _answer(self, frame: Frame, at: float) -> Iterator[Event]:
        key = self._key(frame.head)
        aim = self._set.get(key) if key is not None else None
        if key is None or aim is None:
            return
        status, clock = count(frame.head, "status"), number(frame.head, "at") or at
        if status != _OK:
            yield from self._fail(key, aim, f"http {status}", at)
            return
        try:
            event = self._read(aim, frame.body, clock, at, first=key not in self._answered)
        except AnswerMalformed as error:
            yield from self._fail(key, aim, error.message, at)
            return
        self._answered.add(key)
        self._failed.pop(key, None)
        if event is not None:
            yield event

    def _read(
        self, aim: Poll, body: bytes, clock: float, at: float, *, first: bool
    ) -> Event | None:
        if aim.task is None:
            found = task_rows(body)
            return TasksSeen(
                at=at, process=aim.process, as_of=clock, rows=found.rows, malformed=found.malformed
            )
        if aim.kind == "score":
            metrics = score_metrics(body)
            return ScoreSeen(at=at, task=aim.task, metrics=metrics) if metrics else None
        whole = aim.kind == "samples" and (first or AS_OF not in aim.path)
        return self._samples(aim, aim.task, body, clock, at, whole=whole)

    def _samples(
        self, aim: Poll, task: TaskKey, body: bytes, clock: float, at: float, *, whole: bool
    ) -> SamplesSeen:
        found = sample_rows(body)
        if whole:
            self._read_whole[task] = at
            self._missed.discard(task)
        elif found.truncated and aim.kind == "samples":
            self._missed.add(task)  # the next delta would not tell of what this one cut
        statuses = [SampleStatus(row.status) for row in found.rows if row.status in _STATUSES]
        return SamplesSeen(
            at=at,
            task=task,
            eval_id=aim.eval_id,
            as_of=found.as_of or clock,
            counts=found.counts
            or SampleCounts(**{each.value: statuses.count(each) for each in SampleStatus}),
            rows=found.rows,
            whole=whole,
            truncated=found.truncated,
            malformed=found.malformed,
        )

    def _trouble(self, head: JsonObject, at: float) -> Iterator[Event]:
        key = self._key(head)
        aim = self._set.get(key) if key is not None else None
        error = text(head, "error") or "no usable answer"
        if key is None or aim is None or error in _CHANNEL:
            return
        if aim.kind == "score" and error == _NO_SCORE:
            return
        yield from self._fail(key, aim, error, at)

    def _fail(self, key: LookKey, aim: Poll, reason: str, at: float) -> Iterator[Event]:
        if self._failed.get(key) != reason:
            self._failed[key] = reason
            what = "tasks" if aim.task is None else f"{aim.kind} of {aim.task.task_id}"
            yield ReadFailed(
                at=at, process=aim.process, what=shown(what), reason=shown(reason, 300)
            )

    def _looks(self, head: JsonObject, at: float) -> Iterator[Event]:
        tasks: list[tuple[ProcessKey, float]] = []
        samples: list[tuple[TaskKey, float]] = []
        for look in items(head, "looks"):
            if not isinstance(look, list):
                continue
            fields = cast("list[object]", look)
            if len(fields) < _LOOK_FIELDS:
                continue
            pid, start, name, told_at = fields[:_LOOK_FIELDS]
            clock = as_number(told_at)
            if not isinstance(pid, int) or clock is None:
                continue
            process = ProcessKey(self._machine, pid, str(start))
            aim = self._set.get((process, str(name)))
            if aim is None:
                continue
            self._failed.pop((process, str(name)), None)
            if aim.kind == "tasks":
                tasks.append((process, clock))
            elif aim.kind in {"samples", "running"} and aim.task is not None:
                samples.append((aim.task, clock))
        if tasks or samples:
            yield LooksUnchanged(
                at=at, machine=self._machine, tasks=tuple(tasks), samples=tuple(samples)
            )

    def _key(self, head: JsonObject) -> LookKey | None:
        pid, start, name = count(head, "pid"), text(head, "start"), text(head, "name")
        if pid is None or start is None or name is None:
            return None
        return ProcessKey(self._machine, pid, start), name

    # -- whole reads

    def _reload_where_wrong(self, fleet: Fleet, focus: TaskKey | None, at: float) -> None:
        """Ask for a task's whole list again where deltas can't be trusted."""
        for key in [key for key in self._read_whole if key not in fleet.tasks]:
            del self._read_whole[key]
            self._reloads.pop(key, None)
            self._missed.discard(key)
        for key, read_at in self._read_whole.items():
            task = fleet.tasks[key]
            age = at - read_at
            soon = RELOAD_FOCUSED if key == focus else RELOAD_EVERY
            if task.row.is_completed or age < soon:
                continue
            if age >= WHOLE_EVERY or key in self._missed or disagrees(task):
                self._reloads[key] = self._reloads.get(key, 0) + 1
                self._read_whole[key] = at


_LOOK_FIELDS = 4
_STATUSES = frozenset(SampleStatus)


def _place(process: ProcessKey) -> dict[str, object]:
    return {"pid": process.pid, "start": process.start}
