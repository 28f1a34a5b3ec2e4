"""Decoders of the answers that evalroom polls: task rows, sample rows, running scores.

The shapes are those of Inspect 0.3.246 to 0.3.285 (GET /tasks, GET /evals/E/samples, GET
/tasks/K/score). A malformed row becomes one sentence; the other rows are decoded.
"""

import json
import re
from dataclasses import dataclass
from itertools import islice

from core.ctl.decode import (
    JsonObject,
    as_measure,
    count,
    first_rows,
    flag,
    inner,
    number,
    objects,
    parse_object,
    some_raw_fields,
    text,
    texts,
)
from core.ctl.json_slices import Items
from core.errors import AnswerMalformed
from core.format import plural, size
from core.model.limits import MAX_PROCESS_TASKS, MAX_ROW_BYTES, MAX_SAMPLES
from core.model.log_summary import Metric
from core.model.sample import Activity, Sample, SampleCounts, ToolCall
from core.model.task import TaskCounts, TaskRow

MAX_SENTENCES = 20
"""Sentences about rows that could not be read; an answer may hold nothing else."""
MAX_TEXTS = 100
"""Latches, models, tool calls and scores of one row."""
_MAX_SCORE_CHARACTERS = 400
_ENVELOPE = ("as_of", "counts", "samples", "truncated")


@dataclass(frozen=True, slots=True)
class TaskRows:
    """The task list of a process.

    Attributes:
        rows: Its first rows, up to `MAX_PROCESS_TASKS`.
        malformed: A sentence for each row that could not be read, `MAX_SENTENCES` at most.
        left_out: How many rows were not read, at least.
    """

    rows: tuple[TaskRow, ...]
    malformed: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRows:
    """The answer to a read of samples.

    Attributes:
        as_of: Unix seconds on the eval's own clock; 0 if an old server does not send it.
        counts: Samples of the whole task by status; None if an old server does not send them.
        rows: The listed samples.
        truncated: Whether the server's cap left rows out.
        malformed: A sentence for each row that could not be read, `MAX_SENTENCES` at most.
        left_out: How many rows were not read, at least.
    """

    as_of: float
    counts: SampleCounts | None
    rows: tuple[Sample, ...]
    truncated: bool
    malformed: tuple[str, ...] = ()
    left_out: int = 0


def task_rows(body: bytes) -> TaskRows:
    """Decode `GET /tasks`.

    Raises:
        AnswerMalformed: It is not a list.
    """
    rows: list[TaskRow] = []
    found = first_rows(body, MAX_PROCESS_TASKS)
    malformed = _too_large(found)
    for raw in found.items:
        try:
            rows.append(task_row(raw))
        except AnswerMalformed as error:
            malformed.append(error.message)
    return TaskRows(tuple(rows), tuple(malformed[:MAX_SENTENCES]), found.left_out)


def _too_large(found: Items) -> list[str]:
    count, limit = found.too_large, size(MAX_ROW_BYTES)
    return [f"{plural(count, 'row')} of more than {limit}, or broken"] if count else []


def task_row(raw: bytes) -> TaskRow:
    """Decode one task row.

    Raises:
        AnswerMalformed: It is not an object, or has no task id or eval id.
    """
    row = parse_object(raw)
    task_id, eval_id = text(row, "task_id"), text(row, "eval_id")
    if task_id is None or eval_id is None:
        raise AnswerMalformed("a task row lacks its task id or eval id")
    samples = inner(row, "samples")
    return TaskRow(
        task_id=task_id,
        eval_id=eval_id,
        task=text(row, "task") or "",
        model=text(row, "model") or "",
        solver=text(row, "solver") or "",
        log_location=text(row, "log_location") or "",
        status=text(row, "status") or "running",
        started_at=number(row, "started_at"),
        completed_at=number(row, "completed_at"),
        paused=_latches(row, "paused"),
        paused_now=_latches(row, "paused_now"),
        quiesced=bool(flag(row, "quiesced")),
        held=count(row, "held"),
        resolving=text(row, "resolving"),
        attempts=count(row, "attempts") or 1,
        epochs=count(row, "epochs"),
        samples=TaskCounts(
            total=count(samples, "total") or 0,
            completed=count(samples, "completed") or 0,
            errored=count(samples, "errored") or 0,
            cancelled=count(samples, "cancelled") or 0,
            in_flight=count(samples, "in_flight"),
            queued=count(samples, "queued"),
        ),
        total_tokens=count(row, "total_tokens"),
        total_messages=count(row, "total_messages"),
        refusals=count(row, "refusals"),
        http_retries=count(row, "http_retries"),
        keep_alive=flag(row, "keep_alive"),
        process_paused=flag(row, "process_paused"),
        process_paused_now=flag(row, "process_paused_now"),
        paused_models=texts(row, "paused_models")[:MAX_TEXTS],
        api_version=count(row, "api_version"),
        raw=raw,
    )


def _latches(row: JsonObject, name: str) -> tuple[str, ...]:
    # Before 0.3.252, `paused` was a boolean: the task's own latch.
    return ("task",) if row.get(name) is True else texts(row, name)[:MAX_TEXTS]


def sample_rows(body: bytes) -> SampleRows:
    """Decode `GET /evals/E/samples`.

    Raises:
        AnswerMalformed: It is not an object with `samples`.
    """
    fields = some_raw_fields(body, _ENVELOPE)
    listed = fields.get("samples")
    if listed is None:
        raise AnswerMalformed("the answer has no list of samples")
    rows: list[Sample] = []
    found = first_rows(listed, MAX_SAMPLES)
    malformed = _too_large(found)
    for raw in found.items:
        try:
            rows.append(sample_row(raw))
        except AnswerMalformed as error:
            malformed.append(error.message)
    head = parse_object(
        b"{%s}"
        % b",".join(
            b'"%s":%s' % (name.encode(), fields[name])
            for name in ("as_of", "counts", "truncated")
            if name in fields and len(fields[name]) <= MAX_ROW_BYTES
        )
    )
    counts = head.get("counts")
    return SampleRows(
        as_of=number(head, "as_of") or 0.0,
        counts=_counts(inner(head, "counts")) if isinstance(counts, dict) else None,
        rows=tuple(rows),
        truncated=bool(flag(head, "truncated")) or bool(found.left_out),
        malformed=tuple(malformed[:MAX_SENTENCES]),
        left_out=found.left_out,
    )


def _counts(row: JsonObject) -> SampleCounts:
    return SampleCounts(
        running=count(row, "running") or 0,
        completed=count(row, "completed") or 0,
        error=count(row, "error") or 0,
        cancelled=count(row, "cancelled") or 0,
        pending=count(row, "pending") or 0,
        queued=count(row, "queued") or 0,
    )


def sample_row(raw: bytes) -> Sample:
    """Decode one sample row.

    Raises:
        AnswerMalformed: It is not an object, or has no id, epoch or status.
    """
    row = parse_object(raw)
    sample_id, epoch, status = row.get("sample_id"), count(row, "epoch"), text(row, "status")
    if isinstance(sample_id, bool) or not isinstance(sample_id, str | int):
        raise AnswerMalformed("a sample row lacks its sample id")
    if epoch is None or status is None:
        raise AnswerMalformed("a sample row lacks its epoch or status")
    scores = row.get("scores")
    return Sample(
        sample_id=sample_id,
        epoch=epoch,
        status=status,
        started_at=number(row, "started_at"),
        completed_at=number(row, "completed_at"),
        total_time=number(row, "total_time"),
        total_tokens=count(row, "total_tokens"),
        message_count=count(row, "message_count"),
        turn_count=count(row, "turn_count"),
        token_limit_usage=number(row, "token_limit_usage"),
        token_limit_total=number(row, "token_limit_total"),
        token_limit_type=text(row, "token_limit_type"),
        last_activity_at=number(row, "last_activity_at"),
        activity=_activity(inner(row, "activity")),
        events=count(row, "events"),
        scores=_scores(inner(row, "scores")) if isinstance(scores, dict) else None,
        retries=count(row, "retries"),
        limit=text(row, "limit"),
        interrupt=text(row, "interrupt"),
        has_error=row.get("error") is not None or status == "error",
        raw=_without_content(row, raw),
    )


def _scores(row: JsonObject) -> JsonObject:
    """Return the first scores; a value that is not a plain one is kept as a short text."""
    return {name: _small(value) for name, value in islice(row.items(), MAX_TEXTS)}


def _small(value: object) -> object:
    """Return a value as it is, or as a short text; a large object is empty."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= _MAX_SCORE_CHARACTERS:
        return value
    return {} if isinstance(value, dict) else f"{text[:_MAX_SCORE_CHARACTERS]}…"


_CONTENT = ("error", "limit_reason")
_TOOL_NAMES = re.compile(r"[A-Za-z0-9_.:/-]{1,100}(, [A-Za-z0-9_.:/-]{1,100}){0,9}")


def _without_content(row: JsonObject, raw: bytes) -> bytes:
    """Return the row without free text; servers before API version 6 send it unasked."""
    if all(row.get(name) is None for name in _CONTENT):
        return raw
    kept = {**row, **{name: None for name in _CONTENT if name in row}}
    return json.dumps(kept, separators=(",", ":")).encode()


def _activity(row: JsonObject) -> Activity | None:
    kind = text(row, "type")
    if kind is None:
        return None
    return Activity(
        type=kind,
        count=count(row, "count") or 1,
        started_at=number(row, "started_at"),
        detail=_tool_name(text(row, "detail")) if kind == "tool" else text(row, "detail"),
        deadline=number(row, "deadline"),
        calls=tuple(
            ToolCall(
                id=text(call, "id") or "",
                function=_tool_name(text(call, "function")) or "",
                started_at=number(call, "started_at"),
                cancel_requested=bool(flag(call, "cancel_requested")),
            )
            for call in objects(row, "calls")[:MAX_TEXTS]
        ),
    )


def _tool_name(name: str | None) -> str | None:
    """Return the name of a tool, or of several; `tool` for what only an agent would call so."""
    return name if not name or _TOOL_NAMES.fullmatch(name) else "tool"


def score_metrics(body: bytes) -> tuple[Metric, ...]:
    """Return the metrics of a scoring pass (`GET /tasks/K/score`); empty while it has none.

    Raises:
        AnswerMalformed: It is not an object.
    """
    result = inner(parse_object(body), "result")
    return tuple(
        metric
        for scorer in objects(result, "metrics")
        for metric in metrics_of(text(scorer, "scorer") or "", inner(scorer, "metrics"))
    )


def metrics_of(scorer: str, values: JsonObject) -> tuple[Metric, ...]:
    """Return a scorer's metrics; its `stderr` is the error bar of the first one.

    A metric without a number keeps its place: its value is None.
    """
    numbers = {
        name: as_measure(value)
        for name, value in values.items()
        if value is None or as_measure(value) is not None
    }
    stderr = numbers.get("stderr")
    named = [name for name in numbers if name != "stderr"] or list(numbers)
    return tuple(
        Metric(
            scorer=scorer,
            name=name,
            value=numbers[name],
            stderr=stderr if name == named[0] and name != "stderr" else None,
        )
        for name in named
    )


def header_metrics(results: JsonObject) -> tuple[Metric, ...]:
    """Return the metrics of a log header's `results` (EvalResults), in the log's order."""
    return tuple(
        metric
        for score in objects(results, "scores")
        for metric in metrics_of(
            text(score, "name") or text(score, "scorer") or "",
            {
                name: inner(inner(score, "metrics"), name).get("value")
                for name in inner(score, "metrics")
            },
        )
    )
