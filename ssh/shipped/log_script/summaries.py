"""The header and the sample summaries of a log."""

import collections
import importlib
import json
import os
import re

from ssh.shipped.log_script.places import check_place, local_path, time_limit
from ssh.shipped.log_script.texts import Refused, as_text, failure_text, unix_seconds

MAX_ERROR_CHARACTERS = 400
MAX_DISTINCT_ERRORS = 500
MAX_SCORE_CHARACTERS = 200
MAX_METRICS = 200
EVAL_FIELDS = ("task", "model", "eval_id", "task_id", "eval_set_id", "created")
RUN_METADATA = "evalroom_run"  # evalroom puts the id of its run into the metadata of a log
CANCELLED = ("CancelledError(", "Cancelled(")  # of asyncio and of trio


def log_row(inspect_log, path, asked, max_bytes):
    """Return the row of one log; its sample rows are left out where they exceed `max_bytes`."""
    row = {"log": path}
    try:
        with time_limit():
            fill_row(row, inspect_log, path, asked, max_bytes)
    except BaseException as error:
        row["trouble" if "header" in row else "error"] = failure_text(error)
    return row


def fill_row(row, inspect_log, path, asked, max_bytes):
    check_place(path, asked.get("schemes"))
    header = inspect_log.read_eval_log(path, header_only=True)
    row["header"] = header_row(header)
    if header.status == "started":
        row["header"]["buffer"] = buffer_row(path)
        row["header"]["last_written_at"] = last_written(path)
    if asked["what"] == "headers":
        row["trouble"] = "only the header was asked for"
        return
    summaries = inspect_log.read_eval_log_sample_summaries(path)
    row["samples"] = samples_row(header, summaries, asked["errored"], asked["others"])
    if len(json.dumps(row, default=str)) > max_bytes:
        row["samples"]["rows"] = []


def buffer_row(path):
    """Return how many samples the buffer of a dead eval holds; None: no buffer, or a live eval.

    Inspect keeps it in a folder of its own, and `inspect log recover` reads it.
    """
    try:
        recovery = importlib.import_module("inspect_ai.log._recover._buffer")
        found = recovery.read_buffer_recovery_data(path)
        if found is None:
            return None
        return {"completed": len(found.completed), "in_progress": len(found.in_progress)}
    except Refused:
        raise
    except BaseException:  # an older Inspect can't recover a log
        return None


def last_written(path):
    """Return when an eval last wrote its log or its trace file; None: not known.

    The name of its buffer holds the pid that its trace file is named by.
    """
    local = local_path(path)
    if local is None:
        return None
    paths = [local]
    try:
        buffers = importlib.import_module("inspect_ai.log._recorders.buffer.database")
        folder, name = buffers.location_dir_and_file("file://" + local)
        data = str(importlib.import_module("inspect_ai._util.appdirs").inspect_data_dir(None))
        for each in os.listdir(os.path.join(data, "samplebuffer", folder)):
            found = re.match(re.escape(name) + r"\.([0-9]+)\.db\Z", each)
            if found:
                paths.append(os.path.join(data, "traces", "trace-%s.log" % found.group(1)))
    except Refused:
        raise
    except BaseException:  # an older Inspect, or no buffer
        pass
    times = []
    for each in paths:
        try:
            times.append(os.stat(each).st_mtime)
        except OSError:
            continue
    return max(times) if times else None


def header_row(header):
    spec, results, stats = header.eval, header.results, header.stats
    row = {
        "status": header.status,
        "eval": {name: getattr(spec, name, None) for name in EVAL_FIELDS},
        "error": None if header.error is None else header.error.message[:MAX_ERROR_CHARACTERS],
        "started_at": as_text(getattr(stats, "started_at", None) or ""),
        "completed_at": as_text(getattr(stats, "completed_at", None) or ""),
        "time_limit": spec.config.time_limit,
        "total_tokens": tokens_of(getattr(stats, "model_usage", None)),
    }
    run = (getattr(spec, "metadata", None) or {}).get(RUN_METADATA)
    row["eval"]["run"] = run if isinstance(run, str) else None
    if results is not None:
        row["results"] = {
            "total_samples": results.total_samples,
            "completed_samples": results.completed_samples,
            "scores": [score_row(score) for score in results.scores[:MAX_METRICS]],
        }
    return row


def score_row(score):
    metrics = list(score.metrics.items())[:MAX_METRICS]
    return {"name": score.name, "metrics": {name: {"value": m.value} for name, m in metrics}}


def samples_row(header, summaries, max_errored, max_others):
    """Return the counts, the errors and the rows of a log's samples."""
    newest = {(each.id, each.epoch): each for each in summaries}
    counts = dict.fromkeys(("completed", "error", "cancelled"), 0)
    errors, examples = collections.Counter(), {}  # by text, its numbers apart
    errored, others, scored, messages = [], [], 0, None
    for each in newest.values():
        status = status_of(each)
        counts[status] += 1
        scored += bool(each.scores)
        if getattr(each, "message_count", None) is not None:
            messages = (messages or 0) + each.message_count
        (errored if status == "error" else others).append(each)
        if status == "error":
            text = each.error[:MAX_ERROR_CHARACTERS]
            kind = re.sub("[0-9]+", "0", text)
            if kind in errors or len(errors) < MAX_DISTINCT_ERRORS:
                errors[kind] += 1
                examples.setdefault(kind, [text, each.id, each.epoch])
    left_out = counts["error"] - sum(errors.values())
    if left_out:
        errors["other causes"] += left_out
        examples.setdefault("other causes", ["other causes", errored[-1].id, errored[-1].epoch])
    listed = newest_of(errored, max_errored) + newest_of(others, max_others)
    return {
        "counts": {
            "total": planned(header),
            "completed": counts["completed"],
            "errored": counts["error"],
            "cancelled": counts["cancelled"],
            "scored": scored,
            "messages": messages,
        },
        "errors": [
            [examples[kind][0], number, *examples[kind][1:]]
            for kind, number in errors.most_common()
        ],
        "rows": [summary_row(each) for each in listed],
    }


def status_of(summary):
    if summary.error is None:
        return "completed"
    return "cancelled" if summary.error.startswith(CANCELLED) else "error"


def planned(header):
    """Return how many samples the eval had planned; 0: the log does not say."""
    if header.results is not None and header.results.total_samples:
        return header.results.total_samples
    dataset, epochs = header.eval.dataset, header.eval.config.epochs or 1
    ids = getattr(dataset, "sample_ids", None)
    return (len(ids) if ids else dataset.samples or 0) * epochs


def newest_of(summaries, limit):
    """Return the newest summaries, the newest last."""
    if len(summaries) <= limit:
        return summaries
    moments = [(unix_seconds(each.completed_at) or 0.0, at) for at, each in enumerate(summaries)]
    return [summaries[at] for _, at in sorted(moments)[len(summaries) - limit :]]


def summary_row(summary):
    """Return a row in the form of the control channel's; it contains no text of the agent."""
    usage = getattr(summary, "model_usage", None) or {}
    row = {
        name: getattr(summary, name, None)
        for name in ("total_time", "message_count", "turn_count", "retries", "limit")
    }
    row.update(
        sample_id=summary.id,
        epoch=summary.epoch,
        status=status_of(summary),
        started_at=unix_seconds(getattr(summary, "started_at", None)),
        completed_at=unix_seconds(getattr(summary, "completed_at", None)),
        total_tokens=tokens_of(usage),
        scores={name: small(each.value) for name, each in (summary.scores or {}).items()},
        error=None,
        limit_reason=None,
        interrupt=None,
        activity=None,
        last_activity_at=unix_seconds(getattr(summary, "completed_at", None)),
        token_limit_usage=getattr(summary, "token_limit_usage", None),
        token_limit_total=getattr(summary, "token_limit", None),
        token_limit_type=getattr(summary, "token_limit_type", None),
    )
    return row


def tokens_of(usage):
    """Return the tokens of all models; None: no model was used, or the log does not say."""
    return sum(each.total_tokens for each in usage.values()) if usage else None


def small(value):
    """Return the value of a score; a long one as a text that is cut."""
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    text = as_text(value)
    if len(text) > MAX_SCORE_CHARACTERS:
        return text[:MAX_SCORE_CHARACTERS] + "…"
    return value
