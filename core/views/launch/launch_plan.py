"""The plan of a launch before it is confirmed: its runs with machines, checks and commands."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from core import format as fmt
from core.fleet import Fleet
from core.format import plural, times_in_words
from core.ids import MachineName
from core.launch.plan.confirmation import words_to_launch
from core.launch.plan.risks import author_warning
from core.launch.plan.warnings import warnings_by_key
from core.launch.preflight.checks import Check, CheckedPlan, CheckLevel
from core.model.run import Run, RunState
from core.text import Shown, shown
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.glyphs import GlyphName, glyph
from core.views.tables.machines import marks
from core.views.tables.runs import STYLES, log_folder, run_glyph

_LEVELS: Mapping[CheckLevel, tuple[GlyphName, Tone]] = {
    CheckLevel.OK: ("success", "good"),
    CheckLevel.WARNING: ("starved", "warning"),
    CheckLevel.STOP: ("failed", "error"),
}
_MAX_FULL_RUNS = 2
"""Up to this many runs are shown in full; with more, each gets a few lines."""
_LABEL = 11
_LONG = 16_000
_INDENT = Span(Shown("  "))


# Confirmation


def production_of(checked: Iterable[CheckedPlan], fleet: Fleet) -> tuple[MachineName, ...]:
    """Return the production machines of these runs, each once."""
    names = dict.fromkeys(each.plan.machine for each in checked)
    return tuple(n for n in names if (m := fleet.machines.get(n)) is not None and m.production)


def words_of(checked: Sequence[CheckedPlan], fleet: Fleet) -> str:
    """Return the words to type to start these runs; empty: Enter is enough."""
    return words_to_launch([each.plan.machine for each in checked], production_of(checked, fleet))


def stopped(checked: Iterable[CheckedPlan]) -> tuple[CheckedPlan, ...]:
    """Return the runs that a check stops."""
    return tuple(each for each in checked if each.stops)


# Lines


def title_of(checked: Sequence[CheckedPlan]) -> Shown:
    """Return the title of a launch: its one run, or how many runs it has."""
    if len(checked) == 1:
        plan = checked[0].plan
        return shown(f"Launch {plan.request.task} on {plan.machine}", 200)
    return shown(f"Launch {plural(len(checked), 'run')}")


def head_lines(checked: Sequence[CheckedPlan], fleet: Fleet) -> tuple[TextLine, ...]:
    """Return the title, the size of the launch, and the number of checks by result."""
    authors = dict.fromkeys(author_warning(each.plan.spec) for each in checked)
    lines: list[TextLine] = [(Span(shown(each, 600), "error"),) for each in authors if each]
    lines.append((Span(title_of(checked), "strong"),))
    lines.append(tuple(_reach(checked, fleet)))
    return (*lines, tuple(_summary(checked)))


def _reach(checked: Sequence[CheckedPlan], fleet: Fleet) -> Iterator[Span]:
    machines = Counter(each.plan.machine for each in checked)
    tasks = {each.plan.request.task for each in checked}
    models = {each.plan.request.model for each in checked}
    if len(checked) > 1:
        parts = (
            plural(len(tasks), "task"),
            plural(len(models), "model"),
            _spread(machines),
        )
        yield span_of(f"{' · '.join(parts)} · ")
    yield span_of(f"at worst {_worst(checked)}", "dim")
    if production_of(checked, fleet):
        yield Span(Shown("  "))
        yield Span(glyph("production"), "warning")
        yield span_of(" on production", "warning")


def _spread(machines: Mapping[MachineName, int]) -> str:
    """Return how many runs each machine gets: `on h1, h2` or `3 on h1, 1 on h2`."""
    if set(machines.values()) == {1}:
        return f"on {', '.join(machines)}"
    return ", ".join(f"{count} on {name}" for name, count in machines.items())


def _worst(checked: Sequence[CheckedPlan]) -> str:
    """Return the largest number of sample runs in all."""
    if len(checked) == 1:
        return checked[0].plan.worst.says
    known = [each.plan.worst for each in checked if each.plan.worst.samples is not None]
    total = sum(worst.attempts * (worst.samples or 0) for worst in known)
    if len(known) == len(checked):
        return f"{total} sample runs"
    more = f", and {total} sample runs of the others" if known else ""
    unknown = len(checked) - len(known)
    most = max(each.plan.worst.attempts for each in checked)
    return f"every sample of {plural(unknown, 'run')}, {times_in_words(most)}{more}"


def _summary(checked: Sequence[CheckedPlan]) -> Iterator[Span]:
    counts = Counter(check.level for each in checked for check in each.checks)
    warnings = counts[CheckLevel.WARNING] + sum(len(_warnings(each)) for each in checked)
    stops = counts[CheckLevel.STOP]
    parts: list[Span] = []
    if stops:
        parts.append(span_of(plural(stops, "stop"), "error"))
    if warnings:
        parts.append(span_of(plural(warnings, "warning"), "warning"))
    parts.append(span_of(f"{counts[CheckLevel.OK]} ok", "good"))
    for index, part in enumerate(parts):
        if index:
            yield span_of(" · ", "dim")
        yield part


def body_lines(
    checked: Sequence[CheckedPlan], fleet: Fleet, *, details: bool
) -> tuple[TextLine, ...]:
    """Return the lines of every run.

    Args:
        checked: The plans of the runs.
        fleet: The machines with their marks.
        details: Show each run in full, however many there are.
    """
    in_full = details or len(checked) <= _MAX_FULL_RUNS
    lines: list[TextLine] = []
    # Of many runs, those that can't start come first.
    ordered = checked if in_full else sorted(checked, key=lambda each: not each.stops)
    for each in ordered:
        lines += [()] if lines else []
        lines += _in_full(each, fleet) if in_full else _in_short(each, fleet)
    return tuple(lines)


def has_details(checked: Sequence[CheckedPlan]) -> bool:
    """Whether `details` shows more than the short form."""
    return len(checked) > _MAX_FULL_RUNS


def _name(each: CheckedPlan, fleet: Fleet) -> TextLine:
    plan = each.plan
    which = f"{plan.request.index} of {plan.request.of}  " if plan.request.of > 1 else ""
    machine = fleet.machines.get(plan.machine)
    return (
        span_of(which, "dim"),
        Span(shown(plan.request.task), "strong"),
        Span(shown(f"  {plan.request.model}  on "), "dim"),
        *marks(machine),
        Span(shown(plan.machine), "strong"),
    )


def _in_short(each: CheckedPlan, fleet: Fleet) -> Iterator[TextLine]:
    fine = sum(check.level is CheckLevel.OK for check in each.checks)
    yield (*_name(each, fleet), span_of(f"   {fine} ok", "good" if fine else "dim"))
    yield from _passed_over(each)
    for check in each.checks:
        if check.level is not CheckLevel.OK:
            yield from _check(check)
    for warning in _warnings(each):
        yield _warning(warning)


def _in_full(each: CheckedPlan, fleet: Fleet) -> Iterator[TextLine]:
    plan, spec = each.plan, each.plan.spec
    yield _name(each, fleet)
    if len(plan.request.candidates) > 1:
        asked = f"{plan.request.asked} stands for {', '.join(plan.request.candidates)}"
        yield _line("chosen", Span(shown(f"{plan.machine}: {asked}", 400)))
    yield from _passed_over(each)
    for check in each.checks:
        yield from _check(check)
    for warning in _warnings(each):
        yield _warning(warning)
    yield _line("on error", Span(shown(plan.means, 400)))
    yield _line("at worst", Span(shown(plan.worst.says)))
    yield _line("engine", Span(shown(spec.engine)))
    if spec.gpus:
        yield _line("gpus", span_of(f"{spec.gpus} reserved, by index in CUDA_VISIBLE_DEVICES"))
    yield _line("python", Span(shown(plan.python or "uv installs Inspect and its packages", 400)))
    yield _line("folder", Span(shown(plan.directory, 400)))
    yield _line("logs", Span(shown(log_folder(plan.directory, plan.log_dir), 400)))
    files = ", ".join(f"{path} {fmt.size(len(held))}" for path, held in plan.files.items())
    yield _line("files", Span(shown(files, _LONG), "dim"))
    yield _line("variables", Span(shown(", ".join(plan.variables), _LONG)))
    if plan.secrets:
        named = ", ".join(
            name if name == secret else f"{name} (the secret {secret})"
            for name, secret in plan.secrets.items()
        )
        yield _line("secrets", Span(shown(named, _LONG)), span_of("  by name, never shown", "dim"))
    yield _line("command", Span(Shown("$ "), "key"), Span(shown(plan.command_line, _LONG), "dim"))


def _line(label: str, *spans: Span) -> TextLine:
    return (_INDENT, span_of(label.ljust(_LABEL), "dim"), *spans)


def _passed_over(each: CheckedPlan) -> Iterator[TextLine]:
    for name, why in each.passed_over:
        yield _line(
            "passed over", Span(shown(f" {name}"), "plain"), Span(shown(f": {why}", 400), "dim")
        )


def _check(check: Check) -> Iterator[TextLine]:
    name, tone = _LEVELS[check.level]
    is_ok = check.level is CheckLevel.OK
    word = "" if is_ok else f"{check.level}: "
    yield (
        _INDENT,
        Span(glyph(name), tone),
        Span(shown(f" {check.name}  ", 60), "plain" if is_ok else "strong"),
        Span(shown(word), tone),
        Span(shown(check.message, 600), "dim" if is_ok else tone),
    )
    if check.advice:
        yield (_INDENT, _INDENT, Span(Shown("→ "), "key"), Span(shown(check.advice, 600)))


def _warnings(each: CheckedPlan) -> list[str]:
    """Return a plan's warnings, without those about the machine, which is chosen by now."""
    plan = each.plan
    found = warnings_by_key(plan.request, python=plan.python)
    settled = {warning for key, warning in found if key == "machine"}
    return [warning for warning in plan.warnings if warning not in settled]


def _warning(warning: str) -> TextLine:
    return (_INDENT, Span(glyph("starved"), "warning"), Span(shown(f" {warning}", 600), "warning"))


def foot_lines(checked: Sequence[CheckedPlan], fleet: Fleet) -> tuple[TextLine, ...]:
    """Return what to type to start the launch, or why it can't start."""
    stops = stopped(checked)
    if stops:
        rest = len(checked) - len(stops)
        which = "this run" if len(checked) == 1 else f"{len(stops)} of {len(checked)} runs"
        lines: list[TextLine] = [(span_of(f"a check stops {which}, so nothing starts", "error"),)]
        if rest:
            verb = "remains" if rest == 1 else "remain"
            skips = f"{plural(len(stops), 'run')}; {plural(rest, 'run')} {verb}"
            lines.append((span_of("x", "key"), span_of(f" skips {skips}")))
        return tuple(lines)
    words = words_of(checked, fleet)
    if not words:
        return ()
    return ((span_of("type "), Span(shown(words), "key"), span_of(" to start")),)


# After the start


def launched_lines(runs: Iterable[Run], checked: Sequence[CheckedPlan]) -> Iterator[TextLine]:
    """Yield the present state of each run of a launch; an unknown one is queued."""
    known = {run.id: run for run in runs}
    width = max((len(each.plan.machine) for each in checked), default=0)
    for each in checked:
        run, plan = known.get(each.plan.run), each.plan
        state = RunState.QUEUED if run is None else run.state
        name, tone = STYLES[state]
        mark = Span(glyph(name), tone) if run is None else run_glyph(run)
        yield (
            mark,
            span_of(f" {state!s:<11}", tone),
            Span(shown(f"{plan.machine:<{width}}  "), "dim"),
            Span(shown(plan.request.task), "strong"),
            Span(shown(f"  {plan.request.model}"), "dim"),
        )
        if run is not None and run.message:
            yield (_INDENT, Span(shown(run.message, 600), "warning"))


def launched_summary(runs: Iterable[Run], of: int) -> TextLine:
    """Return how many runs of a launch are in which state."""
    counts = Counter(run.state for run in runs)
    waiting = of - sum(counts.values())
    counts[RunState.QUEUED] += waiting
    parts = [
        Span(shown(f"{counts[state]} {state}"), STYLES[state][1])
        for state in RunState
        if counts[state]
    ]
    dot = span_of(" · ", "dim")
    return tuple(span for part in parts for span in (dot, part))[1:]
