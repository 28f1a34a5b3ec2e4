"""The observer of one machine: decodes its probe's frames into events, and sets what it polls.

It does no I/O. It remembers what the probe polls and what it last reported of each process, and
forgets both when a new probe starts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from core.config.model import WatchConfig
from core.ctl.decode import JsonObject, count, number, text
from core.ctl.envelopes import sample_rows, score_metrics, task_rows
from core.ctl.error_causes import read_causes
from core.ctl.routes import AS_OF
from core.errors import AnswerMalformed
from core.events import (
    ClockMoved,
    DeadEvalFound,
    Event,
    LinkChanged,
    LinkHeard,
    MachineRead,
    OperationsSeen,
    ProbeAnswered,
    ProcessesCut,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    SamplesSeen,
    ScoreSeen,
    TasksSeen,
)
from core.fleet import Fleet
from core.fold.samples import trimmed
from core.frames import Frame
from core.ids import MachineName, ProcessKey, TaskKey
from core.model.machine import LinkState
from core.model.process import ProcessState
from core.model.sample import SampleCounts, SampleStatus
from core.ports import Received
from core.task_events import CausesSeen
from core.text import shown
from core.watch.full_reads import FullReads
from core.watch.host_clock import HostClock
from core.watch.machine_facts import read_facts, read_hello
from core.watch.operations import operations
from core.watch.polls import Poll, polls_for
from core.watch.process_list import ProcessReport, process_key, process_reports
from core.watch.unchanged_reads import PollKey, unchanged_reads

LINK_HEARD_INTERVAL_S = 3.0
"""Minimum seconds between two `LinkHeard`."""
MAX_EVENT_ROWS = 5_000
"""From an answer with more sample rows, only those that the fleet keeps become an event."""
MAX_STEER_FRAMES = 400
"""Changes of polls that are sent at once; the others follow."""
_OK = 200
_CHANNEL_ERRORS = frozenset({"refused", "no socket", "reset"})
"""Errors of the whole control server: the state of the process shows them."""
_NO_SCORE = "http 404"
"""The answer of a task that has no score yet, and of an Inspect without the route."""


class Observer:
    """Watches one machine through its probe.

    Args:
        machine: The machine whose probe sends the frames.
        config: The cadences.
    """

    def __init__(self, machine: MachineName, config: WatchConfig) -> None:
        self._machine = machine
        self._config = config
        self._polls: dict[PollKey, Poll] = {}
        """What the probe polls now."""
        self._answered: set[PollKey] = set()
        """The polls that have answered at least once."""
        self._failed: dict[PollKey, str] = {}
        """The polls whose last answer was unusable, with the reason."""
        self._reports: dict[ProcessKey, ProcessReport] = {}
        """The probe's newest report of each process."""
        self._sent: dict[ProcessKey, ProcessSeen | None] = {}
        """The last event that was made of each process; None: it is gone."""
        self._steady: dict[ProcessKey, ProcessReport] = {}
        """Reports whose event was made and whose state does not change with time."""
        self._listed_logs: dict[ProcessKey, frozenset[str]] = {}
        """The logs of the tasks that a process listed."""
        self._refused_since: dict[ProcessKey, float] = {}
        """When a control server was first missing, Unix seconds on the host's clock."""
        self._full_reads = FullReads()
        self._left_out = 0
        """How many processes the last list had beyond the limit."""
        self._found: dict[ProcessKey, tuple[str, ...]] = {}
        """The logs of the evals that died unseen, as the last list named them."""
        self._clock = HostClock()
        self._frame_at = self._left_at = 0.0
        """When the newest frame came, and the last one of the probe before, as Unix seconds."""
        self._link_heard_at = 0.0
        """Time of the last `LinkHeard` or `LinkChanged` to up, Unix seconds at the desk."""

    def expect(self, processes: Iterable[ProcessKey]) -> None:
        """Report these processes as gone if the first list of a probe does not name them."""
        for key in processes:
            self._sent[key] = ProcessSeen(at=0.0, process=key, state=ProcessState.STARTING)

    def events_of(self, received: Received, at: float) -> tuple[Event, ...]:
        """Return the events in what a connection received.

        Args:
            received: A change of the link's state, or a frame of the probe.
            at: When it was received, Unix seconds at the desk.
        """
        if isinstance(received, LinkChanged):
            if received.state is not LinkState.UP:
                return (received,)
            self._link_heard_at = at
            return (received,)
        if received.kind == "hello":
            self._left_at = self._frame_at
        self._frame_at = at
        return (*self._link_heard(at), *self._frame(received, at))

    def frames(self, fleet: Fleet, focus: TaskKey | None, at: float) -> tuple[Frame, ...]:
        """Return the frames that make the probe poll what it should poll now.

        Args:
            fleet: All that is known.
            focus: The task that the operator looks at; None: no task.
            at: Unix seconds at the desk.
        """
        self._full_reads.decide(fleet, focus, at)
        wanted = {
            (poll.process, poll.name): poll
            for poll in polls_for(
                fleet,
                (key for key, one in self._reports.items() if one.alive),
                focus=focus,
                now=at,
                config=self._config,
                reloads=self._full_reads.times,
            )
        }
        frames: list[Frame] = []
        for key in [key for key in self._polls if key not in wanted]:
            if len(frames) >= MAX_STEER_FRAMES:
                return tuple(frames)
            self._drop(key)
            frames.append(Frame("unwatch", {**_place(key[0]), "name": key[1]}))
        for key, poll in wanted.items():
            former = self._polls.get(key)
            if former is not None and (former.path, former.every) == (poll.path, poll.every):
                continue
            if len(frames) >= MAX_STEER_FRAMES:
                break
            self._polls[key] = poll
            frames.append(
                Frame(
                    "watch",
                    {
                        **_place(poll.process),
                        "name": poll.name,
                        "path": poll.path,
                        "every": poll.every,
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
                probe = read_hello(frame.head, at)
                self._clock = HostClock(probe.clock_offset)
                yield ProbeAnswered(at=at, machine=self._machine, probe=probe)
            case "processes":
                yield from self._processes(frame, at)
            case "answer":
                yield from self._answer(frame, self._clock.written_at(frame.head, at))
            case "beat":
                if (offset := self._clock.step(frame.head, at)) is not None:
                    yield ClockMoved(at=at, machine=self._machine, offset=offset)
                yield from self._states(number(frame.head, "at") or at, at)
                yield from self._unchanged(frame.head, self._clock.written_at(frame.head, at))
            case "trouble":
                yield from self._trouble(frame.head, at)
            case "doing":
                process = process_key(self._machine, frame.head)
                if process is not None and process in self._reports:
                    found, left_out = operations(frame.body)
                    left_out += max(0, count(frame.head, "left_out") or 0)
                    yield OperationsSeen(
                        at=at, process=process, operations=found, left_out=left_out
                    )
            case "facts":
                yield MachineRead(at=at, machine=self._machine, facts=read_facts(frame.body))
            case _:
                return

    def _link_heard(self, at: float) -> Iterator[Event]:
        if not 0 <= at - self._link_heard_at < LINK_HEARD_INTERVAL_S:
            self._link_heard_at = at
            yield LinkHeard(at=at, machine=self._machine)

    def _forget(self) -> None:
        self._polls.clear()
        self._answered.clear()
        self._failed.clear()
        self._reports.clear()
        self._found.clear()

    def _drop(self, key: PollKey) -> None:
        self._polls.pop(key, None)
        self._answered.discard(key)
        self._failed.pop(key, None)

    # -- processes

    def _processes(self, frame: Frame, at: float) -> Iterator[Event]:
        clock = number(frame.head, "at") or at
        reported = process_reports(self._machine, frame.body, at=at)
        left_out = reported.left_out + max(0, count(frame.head, "left_out") or 0)
        if left_out != self._left_out:
            self._left_out = left_out
            yield ProcessesCut(at=at, machine=self._machine, left_out=left_out)
        listed: dict[ProcessKey, ProcessReport] = {}
        dead: list[DeadEvalFound] = []
        for one in reported.reports:
            if isinstance(one, ProcessReport):
                listed[one.event.process] = one
            elif one.last_written_at >= clock - self._config.keep_gone:
                dead.append(one)
        # A process that was known before this probe started and is not listed has ended.
        for key in [key for key in self._sent if key not in listed]:
            self._refused_since.pop(key, None)
            self._listed_logs.pop(key, None)
            if self._sent.pop(key) is not None:
                yield ProcessGone(at=at, process=key, last_seen_at=self._left_at)
        known, self._found = self._found, {each.process: each.logs for each in dead}
        yield from (each for each in dead if known.get(each.process) != each.logs)
        self._reports = listed
        self._steady.clear()
        yield from self._states(clock, at)

    def _states(self, clock: float, at: float) -> Iterator[Event]:
        """Yield the changed processes; one that waits long for an answer is busy, then starved."""
        for key, one in self._reports.items():
            if self._steady.get(key) is one:
                continue  # its event was made, and time alone does not change its state
            if one.is_refused:
                self._refused_since.setdefault(key, clock)
            else:
                self._refused_since.pop(key, None)
            sent = self._sent.get(key)
            since, former = self._refused_since.get(key, clock), sent.state if sent else None
            now = one.at_time(clock, at, refused_since=since, former=former)
            if sent is None:
                if key in self._sent:
                    continue  # it is gone, and that event was made
                yield now  # also a process that started and ended between two reports
            elif one.alive and replace(now, at=sent.at) != sent:
                yield now
            self._sent[key] = now if one.alive else None
            if one.is_steady:
                self._steady[key] = one
            if not one.alive:
                yield ProcessGone(at=at, process=key, killed=one.killed)
                yield from one.unlisted(self._listed_logs.pop(key, frozenset()))

    # -- answers

    def _answer(self, frame: Frame, at: float) -> Iterator[Event]:
        key = self._key(frame.head)
        poll = self._polls.get(key) if key is not None else None
        if key is None or poll is None:
            return
        status, clock = count(frame.head, "status"), number(frame.head, "at") or at
        if status != _OK:
            yield from self._fail(key, poll, f"http {status}", at)
            return
        try:
            event = self._read(poll, frame.body, clock, at, first=key not in self._answered)
        except AnswerMalformed as error:
            yield from self._fail(key, poll, error.message, at)
            return
        self._answered.add(key)
        self._failed.pop(key, None)
        if event is not None:
            yield event

    def _read(
        self, poll: Poll, body: bytes, clock: float, at: float, *, first: bool
    ) -> Event | None:
        if poll.task is None:
            found = task_rows(body)
            self._listed_logs[poll.process] = frozenset(row.log_location for row in found.rows)
            return TasksSeen(
                at=at,
                process=poll.process,
                as_of=clock,
                rows=found.rows,
                malformed=found.malformed,
                left_out=found.left_out,
            )
        if poll.kind == "score":
            metrics = score_metrics(body)
            return ScoreSeen(at=at, task=poll.task, metrics=metrics) if metrics else None
        if poll.kind == "causes":
            read = read_causes(body)
            return CausesSeen(
                at=at, task=poll.task, eval_id=poll.eval_id, as_of=read.as_of, causes=read.causes
            )
        whole = poll.kind == "samples" and (first or AS_OF not in poll.path)
        return self._samples(poll, poll.task, body, clock, at, whole=whole)

    def _samples(
        self, poll: Poll, task: TaskKey, body: bytes, clock: float, at: float, *, whole: bool
    ) -> SamplesSeen:
        found = sample_rows(body)
        if len(found.rows) > MAX_EVENT_ROWS:
            kept = tuple(trimmed(found.rows).values())
            found = replace(found, rows=kept, truncated=True)
        if whole:
            self._full_reads.note_full(task, at)
        elif found.truncated and poll.kind == "samples":
            self._full_reads.note_truncated(task)
        statuses = [SampleStatus(row.status) for row in found.rows if row.status in _STATUSES]
        return SamplesSeen(
            at=at,
            task=task,
            eval_id=poll.eval_id,
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
        poll = self._polls.get(key) if key is not None else None
        error = text(head, "error") or "no usable answer"
        if key is None or poll is None or error in _CHANNEL_ERRORS:
            return
        if poll.kind == "score" and error == _NO_SCORE:
            return
        yield from self._fail(key, poll, error, at)

    def _fail(self, key: PollKey, poll: Poll, reason: str, at: float) -> Iterator[Event]:
        if self._failed.get(key) != reason:
            self._failed[key] = reason
            what = "tasks" if poll.task is None else f"{poll.kind} of {poll.task.task_id}"
            yield ReadFailed(
                at=at, process=poll.process, what=shown(what), reason=shown(reason, 300)
            )

    def _unchanged(self, head: JsonObject, at: float) -> Iterator[Event]:
        tasks: dict[ProcessKey, float] = {}
        samples: dict[TaskKey, float] = {}
        for key, clock in unchanged_reads(self._machine, head):
            poll = self._polls.get(key)
            if poll is None:
                continue
            self._failed.pop(key, None)
            if poll.kind == "tasks":
                tasks[poll.process] = clock
            elif poll.kind in {"samples", "running"} and poll.task is not None:
                samples[poll.task] = clock
        if tasks or samples:
            yield ReadsUnchanged(
                at=at,
                machine=self._machine,
                tasks=tuple(tasks.items()),
                samples=tuple(samples.items()),
            )

    def _key(self, head: JsonObject) -> PollKey | None:
        process, name = process_key(self._machine, head), text(head, "name")
        return None if process is None or name is None else (process, name)


_STATUSES = frozenset(SampleStatus)


def _place(process: ProcessKey) -> dict[str, object]:
    return {"pid": process.pid, "start": process.start}
