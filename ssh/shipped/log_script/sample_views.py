"""One sample of a log, in the form of the control channel's answers about a sample."""

import json
import zipfile

from ssh.shipped.log_script.places import check_place, local_path, time_limit
from ssh.shipped.log_script.summaries import (
    samples_row,
    small,
    status_of,
    summary_row,
)
from ssh.shipped.log_script.texts import as_text, cut, failure_text, unix_seconds
from ssh.shipped.log_script.unpacking import unpacked_size

MAX_TEXT_CHARACTERS = 20000  # of one message, result or value
MAX_TRACEBACK_CHARACTERS = 100000
MAX_SAMPLE_BYTES = 512 * 1024 * 1024
NOT_FOUND, OK, FAILED = 404, 200, 500
SHOWN_EVENTS = frozenset(
    "model tool error score approval review sentinel input"
    " sandbox logger info sample_limit interrupt".split()
)


def sample_answer(inspect_log, asked):
    """Return {"status": HTTP status, "body": the view that was asked for} of a log or sample."""
    try:
        with time_limit():
            check_place(asked["log"], asked.get("schemes"))
            if asked["view"] == "samples":
                return {"status": OK, "body": bounded(listing(inspect_log, asked), asked["bytes"])}
            sample = read_sample(inspect_log, asked)
    except (IndexError, KeyError, LookupError):
        return {"status": NOT_FOUND, "body": {"error": "the log does not contain this sample"}}
    except BaseException as error:
        return {"status": FAILED, "body": {"error": "the log: %s" % failure_text(error)}}
    try:
        return {"status": OK, "body": bounded(VIEWS[asked["view"]](sample, asked), asked["bytes"])}
    except BaseException as error:
        return {"status": FAILED, "body": {"error": failure_text(error)}}


def read_sample(inspect_log, asked):
    """Return the sample; its events are read only where the view needs them."""
    path = asked["log"]
    refuse_huge_sample(path, asked)
    sample_id = asked["id"]
    without = set() if asked["view"] == "events" else {"events"}
    for each in (sample_id, as_number(sample_id)):
        if each is None:
            continue
        try:
            return inspect_log.read_eval_log_sample(
                path,
                each,
                asked["epoch"],
                resolve_attachments=asked["content"],
                exclude_fields=without,
            )
        except (IndexError, KeyError, LookupError):
            continue
    raise LookupError


def as_number(sample_id):
    """Return the id as a number; None if its text is not the text of one."""
    return int(sample_id) if sample_id.isdigit() and str(int(sample_id)) == sample_id else None


def refuse_huge_sample(path, asked):
    local = local_path(path)
    if local is None or not path.endswith(".eval"):
        return
    name = "samples/%s_epoch_%d.json" % (asked["id"], asked["epoch"])
    with open(local, "rb") as file, zipfile.ZipFile(file) as log:
        members = [each for each in log.infolist() if each.filename == name]
        sizes = [unpacked_size(file, each, MAX_SAMPLE_BYTES) for each in members]
    size = max([each.file_size for each in members] + sizes, default=0)
    if size > MAX_SAMPLE_BYTES:
        megabytes = (size >> 20, MAX_SAMPLE_BYTES >> 20)
        raise ValueError("a sample of %d MiB; evalroom reads at most %d MiB" % megabytes)


def bounded(body, max_bytes):
    """Return the body with fewer rows, where it is larger than `max_bytes`.

    Of events and messages the newest stay, of samples the first: the errored ones.
    """
    for listed in ("events", "messages", "samples"):
        rows, kept, size = body.get(listed), [], 0
        if not isinstance(rows, list):
            continue
        for row in rows if listed == "samples" else reversed(rows):
            size += len(json.dumps(row, default=str))
            if size > max_bytes:
                break
            kept.append(row)
        body[listed] = kept if listed == "samples" else kept[::-1]
        if len(kept) < len(rows):
            body["cut"] = len(rows) - len(kept)
            body["truncated"] = True
    return body


def listing(inspect_log, asked):
    """Return the samples of the log: the errored ones, then the newest others."""
    path = asked["log"]
    header = inspect_log.read_eval_log(path, header_only=True)
    summaries = inspect_log.read_eval_log_sample_summaries(path)
    row = samples_row(header, summaries, asked["limit"], asked["limit"])
    counts, rows = row["counts"], row["rows"]
    if asked["status"]:
        rows = [each for each in rows if each["status"] in asked["status"]]
    if asked["errors"]:
        rows = [each for each in rows if each["status"] == "error" or each["retries"]]
    logged = counts["completed"] + counts["errored"] + counts["cancelled"]
    return {
        "as_of": unix_seconds(getattr(header.stats, "completed_at", None)),
        "counts": {
            "completed": counts["completed"],
            "error": counts["errored"],
            "cancelled": counts["cancelled"],
            "abandoned": max(0, counts["total"] - logged),
        },
        "samples": rows[: asked["limit"]],
        "truncated": len(rows) > asked["limit"] or len(row["rows"]) < logged,
    }


def detail(sample, asked):
    row = sample_row(sample)
    retries = sample.error_retries or []
    row.update(
        error=error_row(sample.error, asked),
        error_retries=[error_row(each, asked) for each in retries],
    )
    limit = sample.limit
    row["limit_reason"] = getattr(limit, "reason", None) if asked["content"] and limit else None
    return row


def sample_row(sample):
    summary = sample.summary()
    row = summary_row(summary)
    row["scores"] = {name: small(each.value) for name, each in (sample.scores or {}).items()}
    return row


def error_row(error, asked):
    if error is None or not asked["content"]:
        return None if error is None else {}
    return {
        "message": cut(error.message, MAX_TEXT_CHARACTERS),
        "traceback": cut(error.traceback, MAX_TRACEBACK_CHARACTERS),
    }


def events(sample, asked):
    """Return one page with all events; `since` is the index of the first one."""
    chosen = asked["types"]
    shown = SHOWN_EVENTS if chosen is None else frozenset(chosen.split(","))
    all_kinds = bool(shown & {"all", "*"})
    since = int(asked["since"]) if (asked["since"] or "").isdigit() else 0
    rows = [
        event_row(each, asked["content"])
        for each in sample.events[since:]
        if all_kinds or each.event in shown
    ]
    if asked["tail"] is not None:
        rows = rows[max(0, len(rows) - asked["tail"]) :]
    return {"events": rows, "next": str(len(sample.events)), "done": True}


def event_row(event, content):
    row = {
        "event": event.event,
        "uuid": getattr(event, "uuid", None),
        "span_id": getattr(event, "span_id", None),
        "timestamp": event.timestamp.timestamp(),
        "pending": None,
    }
    texts = {}
    error = getattr(event, "error", None)
    if event.event == "model":
        usage = event.output.usage
        row["model"] = event.model
        row["tokens"] = None if usage is None else usage.total_tokens
        row["stop_reason"] = event.output.stop_reason
        row["has_error"] = error is not None
        texts = {"completion": event.output.completion, "error": error}
    elif event.event == "tool":
        row.update(id=event.id, function=event.function, has_error=error is not None)
        texts = {
            "arguments": event.arguments,
            "result": event.result,
            "error": getattr(error, "message", None),
        }
    elif event.event == "error":
        texts = {"error": getattr(error, "message", None)}
    elif event.event == "info":
        row["source"] = getattr(event, "source", None)
        texts = {"data": event.data}
    if content:
        row.update((name, whole(value)) for name, value in texts.items())
    return row


def messages(sample, asked):
    rows = [message_row(at, each, asked["content"]) for at, each in enumerate(sample.messages)]
    count = len(rows)
    if asked["tail"] is not None:
        rows = rows[max(0, count - asked["tail"]) :]
    return {"status": status_of(sample.summary()), "count": count, "messages": rows}


def message_row(index, message, content):
    row = {"index": index, "id": getattr(message, "id", None), "role": message.role}
    if content:
        row["content"] = cut(message_text(message), MAX_TEXT_CHARACTERS)
    if message.role == "assistant" and message.tool_calls:
        row["tool_calls"] = [
            dict(
                {"id": call.id, "function": call.function},
                **({"arguments": whole(call.arguments)} if content else {}),
            )
            for call in message.tool_calls
        ]
    elif message.role == "tool":
        row["function"] = message.function
        row["has_error"] = message.error is not None
        if content:
            row["error"] = whole(getattr(message.error, "message", None))
    return row


def message_text(message):
    """Return the text of a message; other content becomes `[image]` and the like."""
    if isinstance(message.content, str):
        return message.content
    parts = []
    for item in message.content:
        text = getattr(item, "text", None) or getattr(item, "reasoning", None)
        parts.append(text if isinstance(text, str) else "[%s]" % item.type)
    return "\n".join(parts)


def store(sample, asked):
    entries, keys = sample.store, asked["keys"]
    chosen = {
        name: value
        for name, value in entries.items()
        if not keys or any(is_meant(name, key) for key in keys)
    }
    return {
        "status": status_of(sample.summary()),
        "count": len(entries),
        "store": {name: entry_row(value, asked["content"]) for name, value in chosen.items()},
    }


def is_meant(name, key):
    return name.startswith(key[:-1]) if key.endswith("*") else name == key


def entry_row(value, content):
    text = json.dumps(value, separators=(",", ":"), default=str, ensure_ascii=False)
    row = {"type": json_type(value), "size": len(text.encode("utf-8", "replace"))}
    if content:
        row["value"] = whole(value)
    return row


def json_type(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, (list, tuple)) else "object"


def whole(value):
    return None if value is None else cut(as_text(value), MAX_TEXT_CHARACTERS)


VIEWS = {"sample": detail, "events": events, "messages": messages, "store": store}
