"""Reports as JSON."""

from cli.render.fleet_json import Json, machine_row, plain_json, task_row
from core.act.target_grammar import place_name
from core.fleet import Fleet
from core.model.finding import Finding
from core.text import shown
from core.views.triage.report import Outlier, Still, TaskReport, Triage


def triage_answer(fleet: Fleet, report: Triage) -> Json:
    """Return a report as JSON."""
    return {
        "as_of": report.at,
        "machines": [machine_row(each, report.at) for each in report.machines],
        "tasks": [_task(fleet, each, report.at) for each in report.tasks],
        "findings": [_finding(each) for each in report.findings],
        "next": [{"why": shown(each.why, 400), "command": each.command} for each in report.steps],
    }


def _task(fleet: Fleet, report: TaskReport, now: float) -> Json:
    left = report.left
    return {
        **task_row(fleet, report.task, now),
        "left_seconds": {"p50": left[0], "p90": left[1]} if left is not None else None,
        "tokens_per_minute": report.tokens_per_minute,
        "spent_usd": plain_json(report.money) if report.money is not None else None,
        "samples_run_again": report.run_again,
        "errors": [plain_json(each) for each in report.errors],
        "stalled": [_still(fleet, each) for each in report.still],
        "outliers": [_outlier(fleet, each) for each in report.outliers],
    }


def _still(fleet: Fleet, still: Still) -> Json:
    return {
        "sample": place_name(still.sample, fleet),
        "doing": shown(still.name, 60),
        "seconds": still.seconds,
        "severity": still.severity,
    }


def _outlier(fleet: Fleet, outlier: Outlier) -> Json:
    return {
        "sample": place_name(outlier.sample, fleet),
        "what": outlier.what,
        "value": outlier.value,
        "usual": outlier.usual,
    }


def _finding(finding: Finding) -> Json:
    return {
        "id": finding.id,
        "kind": finding.kind,
        "severity": finding.severity,
        "since": finding.began_at or finding.opened_at,
        "evidence": shown(finding.text, 400),
    }
