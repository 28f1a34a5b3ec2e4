"""Events as lines: a sentence for people, a JSON object for programs."""

from typing import Any

from cli.render.fleet_json import Json, plain_json, raw_row
from core import format as fmt
from core.errors import sentences
from core.events import (
    ClockMoved,
    ContentRevealed,
    DeadEvalFound,
    Dismissed,
    Event,
    LinkChanged,
    LinkHeard,
    LogRead,
    LogUnreadable,
    MachineNamed,
    MachineRead,
    OperationsSeen,
    OrderEnded,
    OrderGiven,
    ProbeAnswered,
    ProcessesCut,
    ProcessGone,
    ProcessSeen,
    ReadFailed,
    ReadsUnchanged,
    RunChanged,
    SamplesSeen,
    ScoreSeen,
    SurfaceRead,
    TasksSeen,
    TimePassed,
)
from core.finding_events import FindingsAcknowledged, FindingsMerged, FindingsMuted
from core.ids import ProcessKey, TaskKey
from core.model.log_summary import Metric, missing_word
from core.model.machine import LinkState
from core.model.sample import NOT_STARTED, Sample, SampleStatus, word_of_status
from core.model.task import TaskRow
from core.task_events import CausesSeen, SpinUpTimed
from core.text import shown

_MAX_REMEMBERED = 100_000
"""States that were reported, which are remembered at most."""
_PULSE = (LinkHeard, ReadsUnchanged, TimePassed)


def event_row(event: Event) -> Json | None:
    """Return an event as an object for one line of JSON; None for heartbeats.

    `event` names its kind. Rows of tasks and samples are Inspect's own.
    """
    if isinstance(event, _PULSE):
        return None
    row: Json = plain_json(event)
    if isinstance(event, TasksSeen | SamplesSeen):
        rows: tuple[TaskRow | Sample, ...] = event.rows
        row["rows"] = [raw_row(each.raw) or plain_json(each, without=("raw",)) for each in rows]
    if isinstance(event, LogRead) and event.samples is not None:
        row["samples"]["rows"] = [raw_row(each.raw) for each in event.samples.rows]
    return {"event": type(event).__name__, **row}


class EventLines:
    """Turns events into sentences; repeats of an unchanged state are dropped.

    Args:
        only_trouble: Whether to report samples only if they errored or were retried.
    """

    def __init__(self, *, only_trouble: bool = False) -> None:
        self._only_trouble = only_trouble
        self._last: dict[object, Any] = {}
        self._samples: dict[TaskKey, dict[tuple[object, int], tuple[str, int | None]]] = {}
        self._unread: dict[ProcessKey, dict[str, str]] = {}
        self._names: dict[TaskKey, str] = {}
        self._orders: dict[str, str] = {}

    def of(self, event: Event) -> list[str]:
        """Return the lines of an event; none if nothing has changed."""
        at = fmt.clock(event.at, seconds=True)
        return [f"{at}  {line}" for line in self._lines(event)]

    def _lines(self, event: Event) -> list[str]:  # noqa: C901, PLR0911, PLR0912 - one case per kind
        match event:
            case LinkChanged():
                return self._link(event)
            case ProbeAnswered(machine=machine, probe=probe):
                host, python = shown(probe.host), shown(probe.python)
                return [f"{machine}: the probe runs on {host} (Python {python})"]
            case ProcessSeen(process=process):
                line = f"{_process(process)} is {event.state}"
                return [line] if self._is_new(process, event.state) else []
            case ProcessesCut(machine=machine, left_out=left_out):
                line = f"{machine}: {left_out:,} processes or more are left out: it lists too many"
                is_new = self._is_new((machine, "left out"), bool(left_out))
                return [line] if is_new and left_out else []
            case ProcessGone(process=process):
                self._forget(process)
                return [f"{_process(process)} ended"]
            case DeadEvalFound(process=process, logs=logs):
                line = f"{_process(process)} died unseen and left {fmt.plural(len(logs), 'log')}"
                return [line] if self._is_new((process, "dead"), line) else []
            case TasksSeen(process=process):
                lines = [self._task(TaskKey(process, row.task_id), row) for row in event.rows]
                lines += [shown(each, 300) for each in event.malformed]
                return [line for line in lines if line]
            case SamplesSeen(task=task):
                return [line for line in (self._sample(task, each) for each in event.rows) if line]
            case ReadFailed(process=process):
                line = f"{_process(process)}: can't read {shown(event.what)}: {shown(event.reason)}"
                unread = self._unread.setdefault(process, {})
                is_new = unread.get(event.what) != event.reason
                unread[event.what] = event.reason
                return [line] if is_new else []
            case LogRead(task=task):
                line = log_words(event)
                return [f"{self._name(task)} {line}"] if self._is_new((task, "log"), line) else []
            case LogUnreadable(task=task):
                line = f"{self._name(task)}: can't read its log: {shown(event.reason)}"
                return [line] if self._is_new((task, "log"), event.reason) else []
            case ScoreSeen(task=task, metrics=metrics):
                line = f"{self._name(task)}: score so far {', '.join(score_words(metrics))}"
                return [line] if self._is_new((task, "score"), metrics) else []
            case CausesSeen(task=task):
                causes = dict.fromkeys(cause for _, _, cause in event.causes)
                return [
                    f"{self._name(task)}: a sample errored: {shown(each, 300)}"
                    for each in causes
                    if self._is_new((task, "cause", each), True)
                ]
            case ContentRevealed(sample=sample):
                which = f"{shown(sample.sample_id, 60)}/{sample.epoch}"
                return [f"{self._name(sample.task)} {which}: text that the model wrote was shown"]
            case OrderGiven(order=order):
                self._orders[order.id] = f"{order.action.verb} of {order.name}"
                return [f"{order.instance.operator} ordered {order.action.verb} of {order.name}"]
            case OrderEnded():
                named = self._orders.pop(event.order, "an order")
                return [f"{named}: {event.state}, {event.message}"]
            case RunChanged(run=run):
                why = f": {shown(run.message)}" if run.message else ""
                line = f"run {shown(run.id)} of {shown(run.task)} is {run.state}{why}"
                return [line] if self._is_new((run.id, "run"), (run.state, run.message)) else []
            case (
                MachineNamed()
                | MachineRead()
                | LinkHeard()
                | ReadsUnchanged()
                | SurfaceRead()
                | OperationsSeen()
                | Dismissed()
                | ClockMoved()
                | SpinUpTimed()
                | FindingsAcknowledged()
                | FindingsMerged()
                | FindingsMuted()
                | TimePassed()
            ):
                return []

    def _link(self, event: LinkChanged) -> list[str]:
        if event.state is LinkState.CONNECTING and event.reason is None:
            return []
        if not self._is_new(event.machine, (event.state, event.reason)):
            return []
        why = f": {shown(sentences(event.reason, event.advice), 400)}" if event.reason else ""
        return [f"{event.machine}: link {event.state}{why}"]

    def _task(self, key: TaskKey, row: TaskRow) -> str | None:
        self._names[key] = f"{key.machine} {shown(row.task)}"
        samples = row.samples
        standing = (samples.completed, samples.errored, samples.cancelled, row.status, row.paused)
        if not self._is_new((key, "row"), (*standing, row.attempts)):
            return None
        parts = [f"{samples.completed}/{samples.total} done"]
        if samples.errored:
            parts.append(f"{samples.errored} errored")
        if samples.cancelled:
            parts.append(f"{samples.cancelled} cancelled")
        if row.attempts > 1:
            parts.append(f"attempt {row.attempts}")
        if row.paused:
            parts.append(f"paused by {shown('+'.join(row.paused))}")
        if row.status != "running":
            parts.append("finished; its log has not been read yet")
        return f"{self._name(key)}: {', '.join(parts)}"

    def _sample(self, task: TaskKey, sample: Sample) -> str | None:
        about, standing = (sample.sample_id, sample.epoch), (sample.status, sample.retries)
        samples = self._samples.setdefault(task, {})
        before = samples.get(about)
        if before == standing:
            return None
        samples[about] = standing
        if before is None and sample.status in {*NOT_STARTED, SampleStatus.COMPLETED}:
            return None
        if self._only_trouble and sample.status != "error" and not sample.retries:
            return None
        name = f"{self._name(task)} {shown(sample.sample_id)}/{sample.epoch}"
        again = f" (retried {sample.retries}x)" if sample.retries else ""
        return f"{name}: {shown(word_of_status(sample.status))}{again}"

    def _forget(self, process: ProcessKey) -> None:
        """Forget a process that ended: a watch may run for weeks."""
        self._last.pop(process, None)
        self._unread.pop(process, None)
        for task in [task for task in self._samples if task.process == process]:
            del self._samples[task]
        if len(self._last) > _MAX_REMEMBERED:  # of tasks that ended; at worst a line comes twice
            self._last.clear()
            self._names.clear()

    def _name(self, task: TaskKey) -> str:
        return self._names.get(task) or f"{task.machine} {shown(task.task_id)}"

    def _is_new(self, about: object, value: object) -> bool:
        if self._last.get(about) == value:
            return False
        self._last[about] = value
        return True


def _process(process: ProcessKey) -> str:
    return f"{process.machine}: process {process.pid}"


def log_words(event: LogRead) -> str:
    """Return how a task ended by its log: its status, its score and its samples by outcome."""
    counts = event.samples.counts if event.samples is not None else None
    over = ""
    if counts is not None and counts.scored < counts.total and counts.scored != counts.completed:
        over = f" over {counts.scored} of {counts.total}"
    parts = [f"{score}{over}" for score in score_words(event.header.metrics)]
    if counts is not None:
        parts.append(f"{counts.completed}/{counts.total} done")
        outcomes = (
            (counts.errored, "errored"),
            (counts.cancelled, "cancelled"),
            (counts.abandoned, missing_word(event.header.status)),
        )
        parts += [f"{number} {word}" for number, word in outcomes if number]
    details = f": {', '.join(parts)}" if parts else ""
    status = event.header.outcome
    if status == "started":
        return f"has a log that says started{details}"
    return f"ended as {shown(status)}{details}"


def score_words(metrics: tuple[Metric, ...]) -> list[str]:
    """Return each value of a score as `scorer/name value±error`."""
    return [
        f"{shown(each.scorer)}/{shown(each.name)} {fmt.score(each.value, each.stderr)}"
        for each in metrics
        if each.name != "stderr"
    ]
