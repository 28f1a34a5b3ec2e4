"""A plan as lines: its title, the preview of each target, and how to confirm it."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from core.act.plan import Plan, Step, blast_radius
from core.act.preview import KnobChange, Preview
from core.act.undo import is_undo, undo_sentence
from core.format import plural
from core.model.action import Verb
from core.model.order import BasisValue
from core.text import Shown, shown, shown_lines
from core.views.cells import Span, TextLine, Tone, span_of
from core.views.glyphs import glyph

_NAMED = 24
"""Targets that are named in one group; the others are counted, and `d` names each."""
_LONGEST = 1_000
"""Characters of the longest command that is shown."""
_FEW = 3
"""Up to this many groups are shown in full; beyond it, each group is one line."""
_TOGETHER, _LABEL = 2, 40
_INDENT = Span(Shown("  "))


def head_lines(plan: Plan) -> tuple[TextLine, ...]:
    """Return a plan's title, what its action does, and how much it affects."""
    offer = plan.steps[0].offer if plan.steps else None
    title = (Span(shown(plan.title, 300), "strong"),)
    what = offer.help if offer is not None and plan.action.verb is not Verb.CONFIG else ""
    reach = [span_of(blast_radius(plan))]
    production = sum(step.is_production for step in plan.sent)
    if production:
        where = "on" if production == len(plan.sent) else f"{production} of them on"
        reach += [Span(Shown("  ")), Span(glyph("production"), "warning")]
        reach.append(span_of(f" {where} production", "warning"))
    lines: list[TextLine] = [title]
    if what and not _has_several_actions(plan):
        lines.append((Span(shown(what, 300), "dim"),))
    return (*lines, tuple(reach))


def _has_several_actions(plan: Plan) -> bool:
    return len({step.action for step in plan.steps}) > 1


def body_lines(plan: Plan, *, details: bool, reveal: bool) -> tuple[TextLine, ...]:
    """Return the previews of the targets, equal ones together, then the targets left out.

    Args:
        plan: The plan.
        details: Whether to show each target by itself.
        reveal: Whether to show free text in the answers of dry runs; else only its size.
    """
    groups = _groups(plan.sent, apart=details)
    lines: list[TextLine] = []
    if len(groups) > _FEW and not details:
        lines += _in_short(groups, plan, reveal=reveal)
    else:
        for group in groups:
            lines += [()] if lines else []
            lines += _group(group, plan, reveal=reveal)
    left_out = [step for step in plan.steps if not step.is_sent]
    if left_out:
        lines += [()] if lines else []
        lines += _left_out(left_out, details=details)
    return tuple(lines)


def _in_short(groups: Sequence[Sequence[Step]], plan: Plan, *, reveal: bool) -> Iterator[TextLine]:
    """Yield one line for each group with its preview; `d` shows the commands."""
    labels = [_names(group[:_TOGETHER]) for group in groups]
    width = min(max(sum(len(span.text) for span in label) for label in labels), _LABEL)
    for group, label in zip(groups, labels, strict=True):
        preview = group[0].preview
        used = sum(len(span.text) for span in label)
        more = f" and {len(group) - _TOGETHER} more" if len(group) > _TOGETHER else ""
        previewed = list(_preview(preview, reveal=reveal)) if preview is not None else [()]
        first, rest = previewed[0], previewed[1:]
        gap = Span(Shown(" " * max(width - used, 0)))
        yield (*label, span_of(more, "dim"), gap, *first)
        yield from _differs(group[0], plan)
        yield from rest
    yield ()
    yield (
        *_command(groups[0][0]),
        span_of(f"   and {len(plan.sent) - 1} more, d shows them", "dim"),
    )


def has_details(plan: Plan) -> bool:
    """Whether `details` shows more."""
    groups = _groups(plan.sent, apart=False)
    return (
        len(groups) > _FEW
        or any(len(group) > 1 for group in groups)
        or (len(plan.steps) - len(plan.sent) > 1)
    )


def _groups(steps: Iterable[Step], *, apart: bool) -> list[list[Step]]:
    groups: dict[object, list[Step]] = {}
    for index, step in enumerate(steps):
        groups.setdefault(index if apart else _sameness(step), []).append(step)
    return list(groups.values())


def _sameness(step: Step) -> object:
    preview = step.preview
    shown_parts = (
        (preview.sentence, preview.notes, preview.changes, bool(preview.withheld))
        if preview is not None
        else None
    )
    return (step.action, shown_parts, step.moved, _undo_of(step), step.is_ours)


def _group(group: Sequence[Step], plan: Plan, *, reveal: bool) -> Iterator[TextLine]:
    step = group[0]
    yield _names(group)
    if step.preview is not None:
        yield from _preview(step.preview, reveal=reveal)
    yield from _differs(step, plan)
    more = span_of(f"   and {len(group) - 1} similar", "dim")
    yield (*_command(step), *((more,) if len(group) > 1 else ()))


def _command(step: Step) -> TextLine:
    return (_INDENT, Span(Shown("$ "), "key"), Span(shown(step.command, _LONGEST), "dim"))


def _differs(step: Step, plan: Plan) -> Iterator[TextLine]:
    """Yield the facts that differ between the targets of the plan."""
    if step.moved:
        fields = ", ".join(step.moved)
        yield (
            _INDENT,
            Span(glyph("ask"), "warning"),
            span_of(f" changed since the preview: {fields}", "warning"),
        )
    if not _all_same(plan, _undo_of):
        yield (_INDENT, Span(shown(_undo_of(step), 300), "dim"))
    if not _all_same(plan, lambda each: each.is_ours):
        yield (_INDENT, span_of("launched by ", "dim"), _launcher(step))


def _names(group: Sequence[Step]) -> TextLine:
    spans: list[Span] = []
    for step in group[:_NAMED]:
        if spans:
            spans.append(Span(Shown(", "), "dim"))
        spans.append(Span(shown(step.where), "dim"))
        spans.append(Span(shown(f" {step.name}"), "strong"))
        if step.is_production:
            spans += [Span(Shown(" "), "warning"), Span(glyph("production"), "warning")]
    if len(group) > _NAMED:
        spans.append(span_of(f" and {len(group) - _NAMED} more", "dim"))
    return tuple(spans)


def _preview(preview: Preview, *, reveal: bool) -> Iterator[TextLine]:
    if preview.changes:
        for change in preview.changes:
            yield (_INDENT, *knob_change(change))
    else:
        computed = span_of(" (computed here: this action has no dry run)", "dim")
        sentence = Span(shown(preview.sentence, 400))
        yield (_INDENT, sentence, *((computed,) if preview.is_computed else ()))
    for note in preview.notes:
        yield (_INDENT, Span(glyph("wait"), "warning"), Span(shown(f" {note}", 400), "warning"))
    for withheld in preview.withheld:
        if not reveal:
            yield (_INDENT, span_of(f"{withheld.size}, withheld", "dim"))
            continue
        yield (
            _INDENT,
            span_of(f"{withheld.size}; text written by the agent (untrusted)", "warning"),
        )
        for line in shown_lines(withheld.text).split("\n"):
            yield (_INDENT, _INDENT, Span(Shown(line)))


def knob_change(change: KnobChange) -> TextLine:
    """Return a knob's value before and after the change, and its value at launch."""
    same = change.before == change.after
    tone: Tone = "dim" if same else "warning"
    launch = "" if change.launch is None else f"   launched with {change.launch}"
    return (
        Span(shown(change.knob), "plain"),
        Span(shown(f"  {value_word(change.before)} → "), "dim"),
        Span(shown(value_word(change.after)), tone),
        Span(shown(launch), "dim"),
    )


def value_word(value: BasisValue) -> str:
    """Return a knob's value as text; `unset` for None."""
    return "unset" if value is None else str(value)


def _left_out(steps: Sequence[Step], *, details: bool) -> Iterator[TextLine]:
    groups: dict[str, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.refusal.sentence if step.refusal else "nothing to send", []).append(
            step
        )
    yield (span_of(f"not sent to {plural(len(steps), 'target')}:", "dim"),)
    for why, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield (_INDENT, *_names(group[: None if details else 6]))
        more = len(group) - 6
        if more > 0 and not details:
            yield (_INDENT, span_of(f"and {more} more", "dim"))
        yield (_INDENT, _INDENT, Span(shown(why, 400), "warning"))


# How it is confirmed


def foot_lines(plan: Plan, *, yes: bool) -> tuple[TextLine, ...]:
    """Return who launched the targets, how to undo it, the reason, and how to confirm it.

    Args:
        plan: The plan.
        yes: Whether the operator agreed to act on runs that someone else launched.
    """
    sent = plan.sent
    if not sent:
        return ()
    lines: list[TextLine] = [(span_of("launched by  ", "dim"), *_launchers(sent))]
    if _all_same(plan, _undo_of):
        lines.append((span_of("undo         ", "dim"), _undo_words(plan)))
    if plan.reason:
        lines.append((span_of("reason       ", "dim"), Span(shown(plan.reason, 300))))
    return (*lines, *_asked(plan, yes=yes))


def _undo_words(plan: Plan) -> Span:
    first = plan.sent[0]
    if is_undo(plan.id):
        return span_of("an undo can't be undone", "dim")
    if first.undo is None:
        return Span(shown(_undo_of(first), 300), "warning")
    return span_of("press u to undo this plan", "good")


def _asked(plan: Plan, *, yes: bool) -> Iterator[TextLine]:
    match plan.confirmation:
        case "words":
            yield ()
            yield (span_of("type "), Span(shown(plan.words), "key"), span_of(" to confirm"))
        case "yes":
            yield ()
            whose = "it" if len(plan.sent) == 1 else f"{plan.others} of them"
            if yes:
                yield (span_of("you agreed", "good"), span_of("; Enter sends it", "dim"))
            else:
                yield (
                    span_of(f"someone else launched {whose}: press ", "warning"),
                    span_of("y", "key"),
                    span_of(" to act on it anyway" if whose == "it" else " to act on them anyway"),
                )
        case _:
            return


def _launchers(steps: Sequence[Step]) -> TextLine:
    others = sum(not step.is_ours for step in steps)
    if others in {0, len(steps)}:
        return (_launcher(steps[0]),)
    return (span_of(f"someone else: {others} of {len(steps)}", "warning"),)


def _launcher(step: Step) -> Span:
    return span_of("you" if step.is_ours else "someone else", _launcher_tone(step))


def _launcher_tone(step: Step) -> Tone:
    return "plain" if step.is_ours else "warning"


def _undo_of(step: Step) -> str:
    return undo_sentence(step.action, step.undo, step.target)


def _all_same(plan: Plan, of: Callable[[Step], object]) -> bool:
    return len({of(step) for step in plan.sent}) <= 1
