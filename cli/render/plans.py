"""Plans and outcomes of `evalroom act`, as lines and as JSON."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from cli.render.fleet_json import Json, plain_json
from core.act.executor import OrderReport
from core.act.plan import Plan, Step, blast_radius, skipped
from core.act.undo import is_undo, undo_sentence
from core.ids import address_of
from core.text import shown, shown_lines
from core.views.actions.outcome_lines import CHANGED, outcome_word

_ALIKE = 5
"""The least number of targets with the same preview that are listed as one entry."""
_NAMED = 8
"""The most targets that one line names."""


def plan_lines(plan: Plan, *, content: bool) -> list[str]:
    """Return a plan as lines for a terminal."""
    lines = [f"{plan.title}: {blast_radius(plan)}"]
    for _, group in groupby(sorted(plan.sent, key=_likeness), key=_likeness):
        steps = list(group)
        lines += ["", *(_together(plan, steps) if len(steps) >= _ALIKE else _each(plan, steps))]
        if content:
            lines += [line for step in steps for line in _content(step)]
    if plan.others and len(plan.sent) > 1:
        lines += ["", f"{plan.others} of them were launched by someone else"]
    for why, number in skipped(plan.steps):
        lines += ["", f"skipped {number}: {why}", f"  {_skipped(plan, why)}"]
    return lines


def _skipped(plan: Plan, why: str) -> str:
    steps = [step for step in plan.steps if step.refusal and step.refusal.sentence == why]
    names = [f"{step.where} {step.name}" for step in steps[:_NAMED]]
    more = len(steps) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _likeness(step: Step) -> tuple[str, str]:
    return step.where, step.preview.sentence if step.preview is not None else ""


def _together(plan: Plan, steps: Sequence[Step]) -> list[str]:
    names = ", ".join(step.name for step in steps[:_NAMED])
    more = len(steps) - _NAMED
    tail = f" and {more} more" if more > 0 else ""
    return [
        f"{steps[0].where}  {len(steps)} targets: {names}{tail}",
        *_preview_lines(plan, steps[0]),
    ]


def _each(plan: Plan, steps: Sequence[Step]) -> list[str]:
    return [
        line
        for step in steps
        for line in [f"{step.where}  {step.name}  ({step.typed})", *_preview_lines(plan, step)]
    ]


def _preview_lines(plan: Plan, step: Step) -> list[str]:
    preview = step.preview
    if preview is None:
        return []
    source = "computed here; this action has no dry run" if preview.is_computed else "dry run"
    lines = [f"  {preview.sentence} ({source})"]
    lines += [f"  note: {note}" for note in preview.notes]
    lines += [f"  withheld: {each.size} (--content shows it)" for each in preview.withheld]
    lines += [f"  {_undo_of(plan, step)}"]
    production = ", on a production machine" if step.is_production else ""
    whose = "launched by you" if step.is_ours else "launched by someone else"
    return [*lines, f"  {whose}{production}", f"  $ {shown(step.command, 1_000)}"]


def _undo_of(plan: Plan, step: Step) -> str:
    if is_undo(plan.id):
        return "an undo can't be undone"
    return undo_sentence(step.action, step.undo, step.target)


def _content(step: Step) -> list[str]:
    withheld = step.preview.withheld if step.preview is not None else ()
    return [f"  {step.name} {each.name}: {shown_lines(each.text)}" for each in withheld]


def outcome_lines(reports: Iterable[OrderReport]) -> list[str]:
    """Return the outcome of a plan as lines: a count of each state, then each target."""
    listed = list(reports)
    counts = Counter(_state(each) for each in listed)
    lines = [", ".join(f"{number} {state}" for state, number in counts.most_common())]
    for each in listed:
        text = each.outcome.message if each.outcome is not None else _changed(each)
        lines.append(f"  {each.step.where}  {each.step.name}: {_state(each)}, {text}")
    return lines


def _state(report: OrderReport) -> str:
    return outcome_word(report.outcome.state if report.outcome is not None else CHANGED)


def _changed(report: OrderReport) -> str:
    what = ", ".join(report.step.moved)
    return f"it changed after the preview ({what}): nothing was sent. Preview it again"


def act_answer(
    plan: Plan, reports: Sequence[OrderReport] | None, *, dry_run: bool, content: bool
) -> Json:
    """Return a plan and its outcomes as one object."""
    steps = plan.steps if reports is None else [each.step for each in reports]
    rows = [_row(plan, step, content=content) for step in steps]
    for row, each in zip(rows, reports or (), strict=False):
        row["outcome"] = {
            "state": CHANGED if each.outcome is None else str(each.outcome.state),
            "message": _changed(each) if each.outcome is None else each.outcome.message,
        }
    return {"action": str(plan.action.verb), "dry_run": dry_run, "targets": rows}


def _row(plan: Plan, step: Step, *, content: bool) -> Json:
    address = address_of(step.target)
    row: Json = {
        "machine": address.process.machine,
        "pid": address.process.pid,
        "task_id": address.task_id,
        "sample_id": address.sample_id,
        "epoch": address.epoch,
        "model": address.model,
    }
    row = {name: value for name, value in row.items() if value is not None}
    row["target"] = step.typed
    row["command"] = shown(step.command, 4_000)
    row["preview"] = _preview(plan, step, content=content)
    return row


def _preview(plan: Plan, step: Step, *, content: bool) -> Json:
    preview, refusal = step.preview, step.refusal
    sentence = refusal.sentence if refusal is not None else ""
    if preview is None:
        return {"sentence": sentence, "skipped": refusal.kind if refusal is not None else None}
    row: Json = {
        "sentence": sentence or preview.sentence,
        "fields": plain_json(dict(preview.fields)),
        "notes": list(preview.notes),
        "changes": [plain_json(each) for each in preview.changes],
        "computed": preview.is_computed,
        "skipped": refusal.kind if refusal is not None else None,
        "ours": step.is_ours,
        "production": step.is_production,
        "undo": _undo_of(plan, step),
        "withheld": [each.size for each in preview.withheld],
    }
    if content:
        row["content"] = {each.name: each.text for each in preview.withheld}
    return row
