"""The knobs that a process reports, as rows of a form: value now, value at launch, use."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from core.act.preconditions import knob_value
from core.format import count
from core.model.action import CLEARABLE, KNOB_UNITS, Change
from core.model.argv_knobs import launched_with
from core.model.knobs import ConfigView, LimitView
from core.model.order import BasisValue
from core.text import Shown, shown

_FROM_ZERO = frozenset(
    {
        "timeout", "attempt_timeout", "stream_idle_timeout", "max_retries",
        "time_limit", "token_limit", "message_limit",
    }
)  # fmt: skip
"""Knobs whose least value is 0."""
MAX_KNOB_VALUE = 10**12
"""The largest value that the form accepts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One knob that a process reports.

    Attributes:
        change: The change that sets it, without a value.
        scope: `task` or `process`.
        label: Its name on screen.
        now: Its value; None: unset.
        launch: Its value at launch; None: unknown.
        in_use: How much of it is used.
        note: A remark, for example the range of an adaptive limit.
        fixed: Why it can't be changed; None: it can be.
    """

    change: Change
    scope: str
    label: Shown
    now: BasisValue
    launch: int | None = None
    in_use: int | None = None
    note: Shown = Shown("")
    fixed: Shown | None = None

    @property
    def least(self) -> int:
        """The least value that it can be set to."""
        return 0 if self.change.knob in _FROM_ZERO else 1

    @property
    def is_clearable(self) -> bool:
        """Whether its override can be cleared."""
        return self.change.knob in CLEARABLE

    @property
    def allowed(self) -> Shown:
        """The values that can be typed."""
        unit = f" ({KNOB_UNITS[self.change.knob]})" if self.change.knob in KNOB_UNITS else ""
        clear = ", or clear" if self.is_clearable else ""
        return Shown(f"a whole number from {self.least}{unit}{clear}")


def parsed_value(knob: Knob, typed: str) -> int | Shown | None:
    """Return the value that was typed (None: clear), or why it is not accepted."""
    word = typed.strip().lower()
    if word == "clear":
        if knob.is_clearable:
            return None
        return shown(f"{knob.label} can't be cleared: {knob.allowed}")
    digits = word.replace("_", "").replace(",", "")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > len(str(MAX_KNOB_VALUE)):
        return shown(f"{knob.label} takes {knob.allowed}")
    value = int(digits)
    if not knob.least <= value <= MAX_KNOB_VALUE:
        return shown(f"{knob.label} takes {knob.allowed}")
    return value


def knobs_of(config: ConfigView, *, of_task: bool, argv: Sequence[str] = ()) -> tuple[Knob, ...]:
    """Return every knob that a config view reports, a task's own first.

    Args:
        config: The config that the process reports.
        of_task: Whether it is the config of a task, which has knobs of its own.
        argv: The command line of the process; it contains values at launch.
    """
    own = _of_task(config) if of_task else ()
    return tuple(
        replace(knob, launch=launched_with(argv, knob.change.knob)) if knob.launch is None else knob
        for knob in (*own, *_of_process(config))
    )


def _of_task(config: ConfigView) -> Iterator[Knob]:
    if config.max_samples is not None:
        yield _limit("max_samples", "task", config.max_samples, config)
    for name in config.limits:
        yield _plain(name, "task", config)
    buffer = config.buffer
    if buffer is not None and buffer.log_buffer is not None:
        waits = f"{count(buffer.pending)} not written yet" if buffer.pending else ""
        yield _plain("log_buffer", "task", config, note=waits)
    if buffer is not None and buffer.log_shared is not None:
        yield _plain("log_shared", "task", config)


def _of_process(config: ConfigView) -> Iterator[Knob]:
    if config.max_tasks is not None:
        yield _limit("max_tasks", "process", config.max_tasks, config)
    for connection in config.connections:
        yield _limit("max_connections", "process", connection, config, model=connection.name)
    if len(config.connections) > 1:
        yield _plain("max_connections", "process", config, label="max connections, all models")
    if config.sandboxes:
        kinds = ", ".join(shown(each.name, 20) for each in config.sandboxes)
        used = [each.in_use for each in config.sandboxes if each.in_use is not None]
        yield _plain(
            "max_sandboxes", "process", config, note=kinds, in_use=sum(used) if used else None
        )
    if config.max_subprocesses is not None:
        yield _limit("max_subprocesses", "process", config.max_subprocesses, config)
    for name in config.retry:
        yield _plain(name, "process", config)
    for key in _named(config.keys or ()):
        yield _limit("key", "process", key, config, key=key.name)


def _named(limits: Iterable[LimitView]) -> Iterator[LimitView]:
    return (each for each in limits if each.name)


def _plain(
    name: str,
    scope: str,
    config: ConfigView,
    *,
    label: str = "",
    note: str = "",
    in_use: int | None = None,
) -> Knob:
    change = Change(name, None)
    return Knob(
        change=change,
        scope=scope,
        label=shown(label or name.replace("_", " "), 60),
        now=knob_value(change, config),
        in_use=in_use,
        note=shown(note, 60),
    )


def _limit(
    name: str,
    scope: str,
    limit: LimitView,
    config: ConfigView,
    *,
    model: str = "",
    key: str = "",
) -> Knob:
    change = Change(name, None, key, model)
    label = name.replace("_", " ")
    label = f"{label} {model}" if model else f"limit {key}" if key else label
    fixed = limit.adjustable is False
    return Knob(
        change=change,
        scope=scope,
        label=shown(label, 60),
        now=knob_value(change, config),
        launch=limit.launch,
        in_use=limit.in_use if limit.in_use is not None else limit.in_flight,
        note=_note(limit),
        fixed=Shown("can't be changed while the eval runs") if fixed else None,
    )


def _note(limit: LimitView) -> Shown:
    notes: list[str] = []
    if limit.tracks_adaptive:
        notes.append(f"follows max connections, {count(limit.limit)} now" if limit.limit else "")
    if limit.minimum is not None and limit.maximum is not None and limit.limit is not None:
        bounds = f"from {limit.minimum} to {limit.maximum}"
        notes.append(f"at {count(limit.limit)}, adapts {bounds}")
    if limit.override is not None:
        notes.append("set by an operator")
    if limit.pending:
        notes.append(f"{count(limit.pending)} waiting")
    return shown(", ".join(each for each in notes if each), 80)
