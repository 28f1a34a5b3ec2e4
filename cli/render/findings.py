"""Findings as lines and as JSON."""

from pathlib import Path

from cli.render.fleet_json import Json
from core import format as fmt
from core.act.proposed_commands import proposed_command
from core.fleet import Fleet
from core.model.finding import Finding
from core.quoting import plain_word
from core.text import shown
from core.views.findings.changes import FindingChange
from core.views.findings.names import scope_of, short_id, short_name, subject_of

_MAX_EVIDENCE_CHARACTERS = 4_000
_MAX_NAME_CHARACTERS = 4_000


def finding_row(fleet: Fleet, finding: Finding, now: float, config: Path | None) -> Json:
    """Return a finding as JSON.

    Args:
        fleet: What is known of its subject.
        finding: The finding.
        now: Unix seconds at the desk.
        config: The config file that its commands name; None: the usual one.
    """
    process = finding.process or (finding.task.process if finding.task is not None else None)
    sample = finding.sample
    commands = ((each.action, proposed_command(fleet, finding, each)) for each in finding.proposals)
    return {
        "id": short_id(finding),
        "kind": shown(finding.kind, 60),
        "severity": finding.severity,
        "scope": scope_of(finding),
        "machine": finding.machine,
        "pid": process.pid if process is not None else None,
        "task_id": _text(finding.task.task_id if finding.task is not None else None),
        "sample_id": _text(sample.sample_id if sample is not None else None),
        "epoch": sample.epoch if sample is not None else None,
        "model": _text(finding.model or None),
        "since": finding.opened_at if finding.began_at is None else finding.began_at,
        "evidence": shown(finding.text, _MAX_EVIDENCE_CHARACTERS),
        "cause": _text(finding.cause or None),
        "actions": [
            {"action": action, "command": with_config(command, config)}
            for action, command in commands
            if command
        ],
        "acknowledged": finding.acknowledged_at is not None,
        "muted_until": finding.muted_until if finding.is_muted(now) else None,
        "closed_at": finding.closed_at,
    }


def _text(value: str | int | None) -> str | int | None:
    return shown(value, _MAX_NAME_CHARACTERS) if isinstance(value, str) else value


def with_config(command: str, config: Path | None) -> str:
    """Return an `evalroom` command that reads this config file; None: the usual one."""
    if config is None or not command:
        return command
    word = plain_word(str(config.expanduser().absolute()))
    return command.replace("evalroom ", f"evalroom --config {word} ", 1)


def state_word(finding: Finding, now: float) -> str:
    """Return the state of a finding in a few words."""
    if finding.waits:
        return "waits for you"
    if not finding.is_open:
        return "closed"
    if finding.is_muted(now):
        return f"muted until {fmt.clock(finding.muted_until or 0.0)}"
    return "open" if finding.acknowledged_at is None else "acknowledged"


def finding_cells(fleet: Fleet, finding: Finding, now: float) -> list[str]:
    """Return a finding as the cells of a line; all harmless."""
    return [
        short_id(finding),
        fmt.age(now - finding.opened_at),
        finding.severity,
        state_word(finding, now),
        shown(finding.kind, 20),
        subject_of(finding, fleet),
        shown(finding.text, 400),
    ]


def change_line(fleet: Fleet, change: FindingChange, at: float) -> str:
    """Return one line: when, what happened, how bad, which finding, about what, its text."""
    finding = change.finding
    parts = (
        fmt.clock(at, seconds=True),
        change.word,
        finding.severity,
        short_id(finding),
        shown(finding.kind, 20),
        subject_of(finding, fleet),
        shown(f"was {short_name(change.was)}" if change.was else finding.text, 400),
    )
    return "  ".join(part for part in parts if part)
