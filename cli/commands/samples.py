"""`evalroom samples TASK` and `evalroom sample TASK ID [EPOCH]`."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from cli.commands.desk_protocols import DeskReader
from cli.commands.process_reads import find, sample_id_of, sample_of, samples_of
from cli.event_loop import run_loop
from cli.parser.command import GlobalOptions
from cli.parser.observation import SampleCommand, SamplesCommand
from cli.render.fleet_json import Json
from cli.render.plain import aligned, print_json, print_lines
from cli.wiring.config import config_of
from cli.wiring.desk import desk_running
from cli.wiring.past import past_unopened
from core import format as fmt
from core import strict_json
from core.ctl.decode import as_number, count
from core.events import ContentRevealed
from core.ids import SampleKey
from core.model.sample import SampleStatus, word_of_status
from core.target_escapes import escaped
from core.task_targets import task_name
from core.text import shown, shown_lines
from core.views.error_group_lines import error_group_line

_ONE_LINE = 100
_ERRORS = ("error_retries", "error")
_ERROR_TEXTS = ("message", "traceback")

Keep = Callable[[ContentRevealed], Awaitable[None]]


def samples(command: SamplesCommand, options: GlobalOptions) -> int:
    """Run `evalroom samples`; return the exit status."""

    async def work() -> int:
        config = config_of(options)
        async with desk_running(config, options, past=past_unopened(config)) as desk:
            return await print_samples(desk, command)

    return run_loop(work())


def sample(command: SampleCommand, options: GlobalOptions) -> int:
    """Run `evalroom sample`; return the exit status."""

    async def work() -> int:
        config = config_of(options)

        async def keep(event: ContentRevealed) -> None:
            from cli.wiring.history import keep_at_once  # noqa: PLC0415 - for --content alone

            await keep_at_once(config, event)

        async with desk_running(config, options, past=past_unopened(config)) as desk:
            return await print_sample(desk, command, keep=keep)

    return run_loop(work())


async def print_samples(desk: DeskReader, command: SamplesCommand) -> int:
    """Print the samples of a task; return the exit status.

    Raises:
        TargetUnclear, RequestFailed, AnswerMalformed: No good answer.
    """
    found = await find(desk, command.task, command.timeout)
    answer = await samples_of(desk, found, status=command.status, all_rows=command.all_rows)
    if command.as_json:
        print_json(answer)
        return 0
    title = f"{task_name(desk.fleet, found.key)} {shown(found.row.task)}"
    lines = [
        f"{title}  {_summary(answer.get('counts'))}",
        "",
        *sample_table(answer["samples"], _as_of(answer)),
    ]
    if found.errors:
        lines += ["", "errors by cause (full texts: evalroom sample TASK ID --content)"]
        lines += [f"  {error_group_line(group)}" for group in found.errors]
    if answer.get("truncated"):
        lines += ["", "this is not the whole list; add --all to print all samples"]
    print_lines(lines)
    return 0


def _summary(counts: object) -> str:
    """Return the counts of samples as one line, by the words for their statuses."""
    known = cast("Json", counts) if isinstance(counts, dict) else {}
    numbers = Counter[str]()
    for name in known:
        word = word_of_status(shown(name))
        numbers["errored" if word == SampleStatus.ERROR else word] += count(known, name) or 0
    return " · ".join(f"{number} {word}" for word, number in numbers.items() if number)


def _as_of(answer: Json) -> float | None:
    return as_number(answer.get("as_of"))


def sample_table(rows: list[Json], as_of: float | None) -> list[str]:
    """Return sample rows as lines of a table; ages are by the eval's own clock."""
    if not rows:
        return ["no samples"]
    head = ["id", "epoch", "status", "doing", "turns", "msgs", "tokens", "time", "idle"]
    head += ["tries", "scores"]
    lines = [head]
    for row in rows:
        last = as_number(row.get("last_activity_at")) if row.get("completed_at") is None else None
        idle = None if not as_of or last is None else as_of - last
        retries = row.get("retries")
        lines.append(
            [
                escaped(str(row.get("sample_id"))),
                _text(row.get("epoch")),
                word_of_status(_text(row.get("status"))),
                _doing(row.get("activity") or row.get("operation"), as_of),
                _number(row.get("turn_count"), fmt.count),
                _number(row.get("message_count"), fmt.count),
                _number(row.get("total_tokens"), fmt.count),
                _number(row.get("total_time"), fmt.duration),
                _number(idle, fmt.age),
                _number((retries or 0) + 1 if isinstance(retries, int) else None, fmt.count),
                _scores(row.get("scores")) or ("error" if row.get("error") is not None else "·"),
            ]
        )
    return aligned(lines, right=(1, 4, 5, 6, 7, 8, 9))


def _doing(activity: object, as_of: float | None) -> str:
    if not isinstance(activity, dict):
        return "·"
    known = cast("Json", activity)
    words = [shown(known.get("type") or known.get("what"))]
    if known.get("detail"):
        words.append(shown(known["detail"], 40))
    started = as_number(known.get("started_at"))
    if as_of and started is not None:
        words.append(fmt.duration(as_of - started))
    return " ".join(words)


def _scores(scores: object) -> str:
    if not isinstance(scores, dict):
        return ""
    pairs = cast("Json", scores).items()
    return " ".join(f"{shown(name, 30)}={shown(_flat(value), 30)}" for name, value in pairs)


def _flat(value: object) -> str:
    if isinstance(value, float):
        return strict_json.number_word(value) or json.dumps(value)
    return value if isinstance(value, str) else strict_json.encode(value)


def _text(value: object) -> str:
    return "·" if value is None else shown(value, 60)


def _number(value: object, form: Callable[[float], str]) -> str:
    known = as_number(value)
    return "·" if known is None else form(known)


async def print_sample(desk: DeskReader, command: SampleCommand, *, keep: Keep) -> int:
    """Print one sample: its detail, events, messages or store; return the exit status.

    Args:
        desk: The desk to read from.
        command: Names the sample and the part to print.
        keep: Called before content is read; records in the history that it was shown.

    Raises:
        TargetUnclear, RequestFailed, AnswerMalformed: No good answer.
    """
    found = await find(desk, command.task, command.timeout)
    sample_id = await sample_id_of(desk, found, command.sample_id)
    if command.content:
        key = SampleKey(found.key, sample_id, command.epoch or 1)
        await keep(ContentRevealed(at=desk.now(), sample=key, eval_id=found.row.eval_id))
    answer = await sample_of(
        desk,
        found,
        sample_id,
        command.epoch,
        part=command.part,
        content=command.content,
    )
    if command.as_json:
        print_json(answer)
    else:
        print_lines(_PARTS[command.part](answer))
    return 0


def _detail(answer: Json) -> list[str]:
    as_of = _clock(answer)
    rows = [
        [shown(name), _cell(name, value, as_of)]
        for name, value in answer.items()
        if not (name in _ERRORS and any(map(_has_text, _errors_in(value))))
    ]
    return [*aligned(rows), *_error_lines(answer)]


def _error_lines(answer: Json) -> list[str]:
    """Return the text of the sample's errors, whole: the cause is often its last line."""
    lines = list[str]()
    for name in _ERRORS:
        for error in filter(_has_text, _errors_in(answer.get(name))):
            text = "\n".join(str(error[key]) for key in _ERROR_TEXTS if error.get(key))
            lines += ["", shown(name), *shown_lines(text).splitlines()]
    return lines


def _errors_in(value: object) -> list[Json]:
    each = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast("Json", one) for one in each if isinstance(one, Mapping)]


def _has_text(error: Json) -> bool:
    return any(error.get(key) for key in _ERROR_TEXTS)


def _clock(answer: Json) -> float | None:
    """Return the time of the answer by the eval's own clock; None if it does not say."""
    started, took = as_number(answer.get("started_at")), as_number(answer.get("total_time"))
    return None if started is None or took is None else started + took


def _cell(name: str, value: object, as_of: float | None) -> str:
    """Return a field of a sample as text: times, durations and activity in words."""
    if name in {"activity", "operation"}:
        return _doing(value, as_of)
    if name == "scores":
        return _scores(value) or "·"
    if (number := as_number(value)) is None:
        return _value(value)
    if name.endswith("_at") or name == "as_of":
        return fmt.clock(number, seconds=True)
    if name == "total_time":
        return fmt.duration(number)
    return fmt.age(number) if name == "age_seconds" else _value(value)


def _value(value: object) -> str:
    if value is None or value in ([], {}):
        return "·"
    if isinstance(value, Mapping | list):
        return shown(strict_json.encode(cast("object", value)), 400)
    return shown(value, 400)


def _events(answer: Json) -> list[str]:
    lines = [["time", "event", "what", "tokens", "state"]]
    for event in _of(answer, "events"):
        at = event.get("timestamp")
        what = event.get("model") or event.get("function") or event.get("source")
        state = "pending" if event.get("pending") else _text(event.get("stop_reason"))
        wrong = "error" if event.get("has_error") else state
        lines.append(
            [
                fmt.clock(at, seconds=True) if isinstance(at, int | float) else _text(at),
                _text(event.get("event")),
                _text(what),
                _number(event.get("tokens"), fmt.count),
                wrong,
            ]
        )
    table = aligned(lines, right=(3,))
    return _with_content(
        table, _of(answer, "events"), ("completion", "arguments", "result", "data")
    )


def _messages(answer: Json) -> list[str]:
    lines = [["no", "role", "tools"]]
    for message in _of(answer, "messages"):
        calls = [shown(each.get("function"), 40) for each in _of(message, "tool_calls")]
        called = ", ".join(calls) or _text(message.get("function"))
        lines.append([_text(message.get("index")), _text(message.get("role")), called])
    table = aligned(lines, right=(0,))
    return _with_content(table, _of(answer, "messages"), ("content",))


def _store(answer: Json) -> list[str]:
    store = answer.get("store")
    entries = cast("Json", store) if isinstance(store, dict) else {}
    lines = [["key", "type", "bytes", "value"]]
    for key, entry in entries.items():
        known = cast("Json", entry) if isinstance(entry, dict) else {}
        value = _value(known["value"]) if "value" in known else "·"
        kind, size = _text(known.get("type")), _number(known.get("size"), fmt.size)
        lines.append([shown(key, 60), kind, size, value])
    return aligned(lines, right=(2,)) if entries else ["the store is empty"]


def _with_content(table: list[str], rows: list[Json], names: tuple[str, ...]) -> list[str]:
    """Return text that the model wrote, indented, for the lines under its row."""
    lines = table[:1]
    for line, row in zip(table[1:], rows, strict=True):
        lines.append(line)
        for name in (each for each in names if row.get(each)):
            text = shown_lines(_flat(row[name])).split("\n")
            lines += [f"    {name}: {text[0]}", *(f"      {each}" for each in text[1:])]
    return lines


def _of(answer: Json, name: str) -> list[Json]:
    rows: Any = answer.get(name)
    if not isinstance(rows, list):
        return []
    return [cast("Json", row) for row in cast("list[object]", rows) if isinstance(row, dict)]


_PARTS: Mapping[str, Callable[[Json], list[str]]] = {
    "show": _detail,
    "events": _events,
    "messages": _messages,
    "store": _store,
}
