"""Details that were read on demand, as lines: errors, events, messages, store, knobs, throughput.

Text of the evaluated agent is contained only if it was asked for; it is made harmless and cut
here. While it is withheld, a line says so.
"""

from collections.abc import Iterator, Mapping, Sequence

from core import format as fmt
from core.ctl.event_cursor import EventFollower
from core.model.knobs import ConfigView, LimitView, ModelThroughput, Throughput
from core.model.sample_detail import (
    Messages,
    SampleDetail,
    SampleError,
    SampleEvent,
    SampleMessage,
    Store,
)
from core.text import CONTENT_LIMIT, Shown, shown, shown_lines
from core.views.cells import Cell, Span, TextLine, Tone
from core.views.pages.page import Fact, Section

_WITHHELD = Span(Shown("withheld; ! shows it"), "dim")
_NAME = 48
_KIND = 10
_INDENT = "          "


def error_lines(detail: SampleDetail, *, content: bool) -> Iterator[TextLine]:
    """Yield the limit and the errors of a sample and of its earlier tries."""
    if detail.limit_reason:
        yield ()
        yield (Span(Shown("limit"), "key"),)
        yield from _content_lines(detail.limit_reason, "warning")
    for number, error in enumerate(detail.error_retries, start=1):
        yield ()
        yield (Span(Shown(f"error of try {number}"), "key"),)
        yield from _error(error, content=content)
    if detail.error is not None:
        yield ()
        yield (Span(Shown("error that ended the sample"), "key"),)
        yield from _error(detail.error, content=content)


def _error(error: SampleError, *, content: bool) -> Iterator[TextLine]:
    if not content:
        yield (_WITHHELD,)
        return
    yield from _content_lines(error.message or "(no message)", "error")
    if error.traceback:
        yield from _content_lines(error.traceback, "dim")


def event_lines(following: EventFollower) -> Iterator[TextLine]:
    """Yield one line for each event, oldest first; its content, if asked for, comes below it."""
    if following.dropped:
        yield _quiet(f"{fmt.count(following.dropped)} older events are not kept")
    if following.restarts:
        yield _quiet(f"the sample was run again {fmt.plural(following.restarts, 'time')}")
    for event in following.events:
        yield _event(event)
        for name, text in event.content.items():
            yield from _content_lines(text, "plain", label=name)
    for sentence in following.malformed:
        yield (Span(shown(sentence), "warning"),)


def event_words(event: SampleEvent) -> str:
    """Return an event in a few words, without a word that the agent wrote: `tool bash, failed`."""
    state = ", in progress" if event.pending else ", failed" if event.has_error else ""
    return f"{event.kind} {shown(event.name or '', _NAME)}".strip() + state


def dated_event(event: SampleEvent) -> Shown:
    """Return an event in a few words, with its time of the day."""
    at = f"  {fmt.clock(event.at, seconds=True)}" if event.at is not None else ""
    return shown(f"{event_words(event)}{at}", 120)


def _event(event: SampleEvent) -> TextLine:
    spans = [
        Span(
            fmt.clock(event.at, seconds=True) if event.at is not None else Shown("    ·   "), "dim"
        ),
        Span(Shown(f"  {shown(event.kind, 24):<{_KIND}}"), _kind_tone(event)),
        Span(shown(event.name or "", _NAME), "strong"),
    ]
    if event.pending:
        spans.append(Span(Shown("  in progress"), "good"))
    elif event.tokens is not None:
        spans.append(Span(Shown(f"  {fmt.count(event.tokens)} tokens"), "plain"))
    if event.stop_reason and not event.pending:
        spans.append(Span(Shown(f"  {shown(event.stop_reason, 24)}"), "dim"))
    if event.has_error:
        spans.append(Span(Shown("  failed"), "error"))
    return tuple(spans)


def _kind_tone(event: SampleEvent) -> Tone:
    if event.kind in {"error", "sample_limit"}:
        return "error"
    return "warning" if event.kind in {"approval", "interrupt", "input"} else "plain"


def message_lines(messages: Messages) -> Iterator[TextLine]:
    """Yield one line for each message; its text, if asked for, comes below it."""
    for message in messages.messages:
        yield _message(message)
        for call in message.calls:
            if call.arguments is not None:
                yield from _content_lines(call.arguments, "dim", label=shown(call.function, _NAME))
        for text, tone in ((message.content, "plain"), (message.error, "error")):
            if text is not None:
                yield from _content_lines(text, "error" if tone == "error" else "plain")
    for sentence in messages.malformed:
        yield (Span(shown(sentence), "warning"),)


_ROLES: Mapping[str, Tone] = {"assistant": "good", "user": "key", "system": "dim", "tool": "plain"}


def _message(message: SampleMessage) -> TextLine:
    spans = [
        Span(Shown(f"{message.index:>5}  "), "dim"),
        Span(Shown(f"{shown(message.role, 24):<{_KIND}}"), _ROLES.get(message.role, "plain")),
    ]
    if message.function:
        spans.append(Span(Shown(f"  {shown(message.function, _NAME)}"), "strong"))
    if message.calls:
        names = ", ".join(shown(call.function, _NAME) for call in message.calls[:6])
        spans.append(Span(Shown(f"  calls {names}"), "plain"))
    if message.has_error:
        spans.append(Span(Shown("  failed"), "error"))
    return tuple(spans)


def store_lines(store: Store) -> Iterator[TextLine]:
    """Yield one line for each entry; its value, if asked for, comes below it."""
    for entry in store.entries:
        size = fmt.size(entry.size) if entry.size is not None else Shown("·")
        yield (
            Span(Shown(f"{shown(entry.key, _NAME):<24}"), "strong"),
            Span(Shown(f"  {shown(entry.type or '', 24):<{_KIND}}  {size:>6}"), "dim"),
        )
        if entry.value is not None:
            yield from _content_lines(entry.value, "plain")
    if not store.entries:
        yield _quiet("the store is empty")


def _content_lines(text: str, tone: Tone, *, label: str = "") -> Iterator[TextLine]:
    head = f"{label}: " if label else ""
    for line in (head + shown_lines(text, CONTENT_LIMIT)).split("\n"):
        yield (Span(Shown(_INDENT)), Span(Shown(line), tone))


def _quiet(words: str) -> TextLine:
    return (Span(Shown(words), "dim"),)


def knob_sections(config: ConfigView) -> tuple[Section, ...]:
    """Return a task's knobs: each limit with its use, then the overrides of operators."""
    limits = list(_limits(config))
    overrides = [
        Fact(shown(name.replace("_", " ")), _value(value, "set to"))
        for name, value in {**config.limits, **config.retry}.items()
        if value is not None
    ]
    buffer = config.buffer
    if buffer is not None and buffer.log_buffer is not None:
        waiting = f", {fmt.count(buffer.pending)} not written yet" if buffer.pending else ""
        text = f"every {fmt.count(buffer.log_buffer)} samples{waiting}"
        limits.append(Fact(Shown("log written"), (Span(Shown(text), "plain"),)))
    return tuple(
        section
        for section in (
            Section(Shown("Limits"), tuple(limits)),
            Section(Shown("Set by operators"), tuple(overrides)),
        )
        if section.facts
    )


def _limits(config: ConfigView) -> Iterator[Fact]:
    named = (
        ("max samples", config.max_samples),
        ("max tasks", config.max_tasks),
        ("max subprocesses", config.max_subprocesses),
    )
    for label, limit in named:
        if limit is not None:
            yield Fact(Shown(label), _limit(limit))
    for kind, limits in (
        ("sandboxes", config.sandboxes),
        ("connections", config.connections),
        ("limit", config.keys or ()),
    ):
        for limit in limits:
            yield Fact(shown(f"{kind} {limit.name}", 24), _limit(limit))


def _limit(limit: LimitView) -> Cell:
    used = limit.in_use if limit.in_use is not None else limit.in_flight
    spans = [Span(Shown(f"{_number(used)} of {_number(limit.limit)} in use"), "plain")]
    if limit.minimum is not None and limit.maximum is not None:
        moves = f"  adapts from {fmt.count(limit.minimum)} to {fmt.count(limit.maximum)}"
        spans.append(Span(Shown(moves), "dim"))
    if limit.tracks_adaptive:
        spans.append(Span(Shown("  follows max connections"), "dim"))
    if limit.override is not None:
        spans.append(Span(Shown(f"  set to {fmt.count(limit.override)}"), "warning"))
    if limit.pending:
        spans.append(Span(Shown(f"  {fmt.count(limit.pending)} waiting"), "plain"))
    return tuple(spans)


def _number(value: int | None) -> Shown:
    return Shown("·") if value is None else fmt.count(value)


def _value(value: int, how: str) -> Cell:
    return (Span(Shown(f"{how} {fmt.count(value)}"), "warning"),)


def throughput_section(throughput: Throughput) -> Section:
    """Return the throughput of each model of the process."""
    facts = [Fact(shown(each.model, 24), tuple(_model(each))) for each in throughput.models]
    return Section(Shown("Throughput"), tuple(facts))


def _model(model: ModelThroughput) -> Iterator[Span]:
    rates: Sequence[tuple[float | None, str]] = (
        (model.output_tokens_per_minute, "tok/min out"),
        (model.input_tokens_per_minute, "in"),
        (model.requests_per_minute, "req/min"),
    )
    words = [f"{fmt.count(rate)} {word}" for rate, word in rates if rate is not None]
    yield Span(Shown("  ".join(words) or "idle"), "plain")
    if model.retries_per_minute:
        yield Span(Shown(f"  {fmt.count(model.retries_per_minute)} retries/min"), "warning")
    if model.backoff_ratio:
        yield Span(Shown(f"  {fmt.percent(model.backoff_ratio)} in back-off"), "warning")
    if model.retry_waits_active:
        yield Span(Shown(f"  {fmt.count(model.retry_waits_active)} waiting"), "warning")
