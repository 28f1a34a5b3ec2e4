"""A report as lines of text: for a dialog, and for `evalroom triage`."""

from collections.abc import Iterable, Iterator

from core import format as fmt
from core.act.target_grammar import place_name
from core.fleet import Fleet
from core.judge.prices import money_in_words
from core.model.finding import Finding
from core.model.machine import Machine
from core.text import shown
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.error_group_lines import error_group_line
from core.views.findings.names import subject_of
from core.views.tables.findings import TONES
from core.views.tables.row_context import task_line
from core.views.tables.tasks import state_word
from core.views.triage.report import MAX_LISTED, Outlier, Still, TaskReport, Triage

_MAX_TEXT = 400
_LITTLE = 0.1
"""Part of memory or of a disk that is little to be left."""
_BLANK: TextLine = ()


def triage_lines(fleet: Fleet, report: Triage) -> list[TextLine]:
    """Return a report as lines; they may be longer than the screen is wide."""
    parts = (
        _headed("Machines", [_machine(each) for each in report.machines]),
        *(_task(fleet, report, each) for each in report.tasks),
        _headed("Findings", list(_findings(fleet, report))),
        _headed("Next", list(_steps(report))),
    )
    lines = [line for part in parts if part for line in (*part, _BLANK)]
    if not report.steps:
        calm = "Nothing needs you." if not report.findings else "No action is proposed."
        lines.append((span_of(calm, "good"),))
    return lines[:-1] if lines and not lines[-1] else lines


def _headed(title: str, lines: list[TextLine]) -> list[TextLine]:
    return [(span_of(title, "strong"),), *lines] if lines else []


def _line(*spans: Span) -> TextLine:
    return (span_of("  "), *spans)


def _joined(parts: Iterable[Span]) -> Iterator[Span]:
    for place, part in enumerate(parts):
        if place:
            yield span_of(" · ", "dim")
        yield part


def _machine(machine: Machine) -> TextLine:
    link, facts = machine.link, machine.facts
    parts = [Span(shown(machine.name, 60), "strong")]
    tone: Tone = "good" if machine.is_reached else "error"
    reason = f" ({link.reason})" if link.reason and not machine.is_reached else ""
    parts.append(Span(shown(f"{link.state}{reason}", _MAX_TEXT), tone))
    if facts is not None and machine.is_reached:
        if facts.load and facts.cpus:
            parts.append(span_of(f"load {facts.load[0]:.1f} of {facts.cpus:g}"))
        memory = facts.memory
        if memory.total and memory.available is not None:
            used = 1 - memory.available / memory.total
            memory_tone: Tone = "warning" if used > 1 - _LITTLE else "plain"
            parts.append(span_of(f"memory {fmt.percent(used)}", memory_tone))
        used_gpus = [gpu.utilisation for gpu in facts.gpus if gpu.utilisation is not None]
        if used_gpus:
            mean = sum(used_gpus) / len(used_gpus) / 100
            parts.append(span_of(f"{fmt.plural(len(facts.gpus), 'GPU')} {fmt.percent(mean)}"))
        for disk in facts.disks:
            if disk.total and disk.free is not None and disk.free / disk.total < _LITTLE:
                left = f"{shown(disk.path, 60)} {fmt.size(disk.free)} free"
                parts.append(span_of(left, "warning"))
    return _line(*_joined(parts))


def _task(fleet: Fleet, report: Triage, each: TaskReport) -> list[TextLine]:
    task, row = each.task, each.task.row
    line = task_line(fleet, task.key, report.at)
    word = state_word(line) if line is not None else span_of(str(task.state))
    head: TextLine = (
        Span(shown(f"{task.key.machine} {row.task}", 120), "strong"),
        Span(shown(f" {row.model} ", 120), "dim"),
        word,
    )
    lines = [head, _line(*_joined(_progress(each)))]
    lines += [_line(Span(shown(error_group_line(one), _MAX_TEXT), "error")) for one in each.errors]
    lines += [_line(*_still(fleet, still)) for still in each.still[:MAX_LISTED]]
    lines += _more(len(each.still), "stalled sample")
    lines += [_line(*_outlier(fleet, one)) for one in each.outliers[:MAX_LISTED]]
    lines += _more(len(each.outliers), "outlier")
    return lines


def _more(number: int, what: str) -> list[TextLine]:
    more = number - MAX_LISTED
    return [_line(span_of(f"and {fmt.plural(more, f'more {what}')}", "dim"))] if more > 0 else []


def _progress(each: TaskReport) -> Iterator[Span]:
    counts, row = each.task.progress, each.task.row
    yield span_of(f"{counts.completed} of {fmt.plural(counts.total, 'sample')} done")
    if counts.errored:
        yield span_of(f"{counts.errored} errored", "error")
    if counts.cancelled:
        yield span_of(f"{counts.cancelled} cancelled", "warning")
    if counts.in_flight and not each.task.is_over:
        yield span_of(f"{counts.in_flight} in flight")
    if each.run_again:
        yield span_of(f"{each.run_again} run again", "warning")
    if row.http_retries:
        yield span_of(fmt.plural(row.http_retries, "HTTP retry", "HTTP retries"), "warning")
    if row.refusals:
        yield span_of(fmt.plural(row.refusals, "refusal"), "warning")
    yield from _pace(each)


def _pace(each: TaskReport) -> Iterator[Span]:
    if each.tokens_per_minute is not None and not each.task.is_over:
        yield span_of(f"{fmt.count(each.tokens_per_minute)} tokens a minute")
    if each.money is not None:
        yield span_of(money_in_words(each.money))
    if each.left is not None:
        yield span_of(f"{fmt.span_of_time(*each.left)} left")
    elif not each.task.is_over:
        yield span_of("time left unknown", "dim")
    header = each.task.header
    metrics = header.metrics if header is not None and each.task.is_over else each.task.interim
    for metric in metrics[:1]:
        yield Span(shown(f"{metric.name} {fmt.score(metric.value, metric.stderr)}", 80), "good")


def _still(fleet: Fleet, still: Still) -> Iterator[Span]:
    name = place_name(still.sample, fleet)
    lasted = fmt.duration_in_words(still.seconds)
    text = f"{name}: {shown(still.name, 60)} for {lasted}, {still.severity}"
    yield Span(shown(text, _MAX_TEXT), TONES[still.severity])


def _outlier(fleet: Fleet, outlier: Outlier) -> Iterator[Span]:
    name = place_name(outlier.sample, fleet)
    if outlier.what == "seconds":
        value, usual = fmt.duration(outlier.value), fmt.duration(outlier.usual)
        text = f"{name}: has run for {value}, 95% of the finished ones took {usual} or less"
    else:
        value, usual = fmt.count(outlier.value), fmt.count(outlier.usual)
        text = f"{name}: {value} {outlier.what}, 95% of the finished ones took {usual} or less"
    yield Span(shown(text, _MAX_TEXT), "warning")


def _findings(fleet: Fleet, report: Triage) -> Iterator[TextLine]:
    """Yield a line for each finding; those of one task that say the same share a line."""
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for each in report.findings:
        about = each.task or each.process or each.machine if each.sample else each.id
        alike.setdefault((about, each.kind, each.severity, each.text), []).append(each)
    for group in alike.values():
        finding, more = group[0], len(group) - 1
        others = f" and {fmt.plural(more, 'more sample')}" if more else ""
        state = _state(finding, report.at)
        text = f"{finding.severity:<8}{subject_of(finding, fleet)}{others}: {state}{finding.text}"
        yield _line(Span(shown(text, _MAX_TEXT), TONES[finding.severity]))


def _state(finding: Finding, now: float) -> str:
    if finding.is_muted(now):
        return "(muted) "
    return "(acknowledged) " if finding.acknowledged_at is not None else ""


def _steps(report: Triage) -> Iterator[TextLine]:
    """Yield the commands; those of one reason stand together, with the reason below them."""
    by_reason: dict[str, list[str]] = {}
    for each in report.steps:
        by_reason.setdefault(each.why, []).append(each.command)
    for why, commands in by_reason.items():
        yield from (_line(Span(shown(each, 1_000), "key")) for each in commands)
        yield (span_of("    "), Span(shown(why, _MAX_TEXT), "dim"))
