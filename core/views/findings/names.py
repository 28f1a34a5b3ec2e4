"""The names of findings: the short id that people type, and what a finding is about."""

import hashlib
from typing import Literal

from core.act.target_grammar import place_name
from core.fleet import Fleet
from core.model.finding import Finding
from core.text import shown

ID_CHARACTERS = 8

FindingScope = Literal["sample", "task", "model", "run", "process", "machine", "fleet"]


def short_id(finding: Finding) -> str:
    """Return a short id of a finding, which commands take and print."""
    return short_name(finding.id)


def short_name(finding_id: str) -> str:
    """Return the short id of a finding with this id."""
    return hashlib.sha256(finding_id.encode("utf-8", "replace")).hexdigest()[:ID_CHARACTERS]


def scope_of(finding: Finding) -> FindingScope:
    """Return the narrowest thing that a finding is about; `fleet`: no single one."""
    named: tuple[tuple[object, FindingScope], ...] = (
        (finding.sample, "sample"),
        (finding.task, "task"),
        (finding.model, "model"),
        (finding.run, "run"),
        (finding.process, "process"),
        (finding.machine, "machine"),
    )
    for what, scope in named:
        if what:
            return scope
    return "fleet"


def subject_of(finding: Finding, fleet: Fleet) -> str:
    """Return what a finding is about, so that it can be typed as a TARGET; harmless."""
    place = finding.sample or finding.task or finding.process
    if place is None:
        return shown(finding.machine or finding.model or finding.run or "", 60)
    task = fleet.tasks.get(finding.task) if finding.task is not None else None
    named = f" ({shown(task.row.task, 60)})" if task is not None else ""
    return f"{place_name(place, fleet)}{named}"
