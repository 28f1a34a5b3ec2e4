"""The checks of a preflight as lines and as JSON."""

from collections.abc import Iterator, Sequence

from core.errors import sentences
from core.launch.plan.risks import author_warning
from core.launch.preflight.checks import Check, CheckedPlan, CheckLevel
from core.text import shown
from core.views.tables.runs import log_folder

_MARKS = {CheckLevel.OK: "ok  ", CheckLevel.WARNING: "warn", CheckLevel.STOP: "STOP"}


def check_rows(checks: Sequence[Check]) -> list[str]:
    """Return a line for each check: its level, the finding, the advice."""
    return [
        f"{_MARKS[each.level]}  {each.name}: " + shown(sentences(each.message, each.advice), 1_200)
        for each in checks
    ]


def checks_json(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Return checks as values for JSON."""
    return [
        {
            "name": each.name,
            "level": str(each.level),
            "message": each.message,
            "advice": each.advice,
        }
        for each in checks
    ]


def checked_plan_lines(checked: CheckedPlan) -> Iterator[str]:
    """Yield a run's plan and its preflight results, as lines."""
    plan = checked.plan
    yield f"run {plan.run}: {shown(plan.spec.task[0])} with {shown(plan.spec.model[0])}"
    for machine, why in checked.passed_over:
        yield f"  not on {shown(machine)}: {shown(why, 300)}"
    author = author_warning(plan.spec)
    for title, text in (
        *([("warning", author)] if author else []),
        ("machine", plan.machine),
        ("on error", plan.means),
        ("at worst", plan.worst.says),
        ("logs", log_folder(plan.directory, plan.log_dir)),
        ("command", plan.command_line),
        *(("warning", each) for each in plan.warnings),
    ):
        yield f"  {title:<9}{shown(text, 20_000)}"
    yield from (f"  {line}" for line in check_rows(checked.checks))


def checked_plan_json(checked: CheckedPlan) -> dict[str, object]:
    """Return a checked run as a value for JSON."""
    return {
        "run_id": checked.plan.run,
        "machine": checked.plan.machine,
        "task": checked.plan.spec.task[0],
        "model": checked.plan.spec.model[0],
        "author": checked.plan.spec.author,
        "passed_over": [{"machine": m, "why": why} for m, why in checked.passed_over],
        "checks": checks_json(checked.checks),
    }
