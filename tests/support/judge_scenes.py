"""Scenes for the tests of kinds: a fleet of one machine, read several times."""

from core.config.judge import JudgeConfig
from core.desk.step import USUAL_RULES, advance
from core.events import Event
from core.fleet import Fleet
from core.model.finding import Finding
from core.model.task import TaskRow
from tests.support.fleets import judged_after, link, named, process_seen, tasks_seen

HOSTILE = "\x1b]0;x\x07\u202e" + "m" * 300
"""A name that would harm a terminal, and is long."""


def begun(*rows: TaskRow, argv: tuple[str, ...] = ("inspect", "eval", "ctf.py")) -> Fleet:
    """Return a fleet with one process that runs these tasks."""
    return judged_after(named(), link(), process_seen(argv=argv), tasks_seen(*rows))


def after(fleet: Fleet, *events: Event, rules: JudgeConfig = USUAL_RULES) -> Fleet:
    """Return the fleet after these events, judged by these rules."""
    for event in events:
        fleet = advance(fleet, event, rules)
    return fleet


def found(fleet: Fleet, kind: str) -> list[Finding]:
    """Return the open findings of a kind."""
    return [each for each in fleet.findings if each.kind == kind and each.is_open]


def is_harmless(finding: Finding) -> bool:
    """Return whether the texts of a finding could not harm a terminal, and are not too long."""
    return all(text.isprintable() and len(text) < 600 for text in (finding.text, finding.cause))
