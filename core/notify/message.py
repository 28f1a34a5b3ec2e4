"""The words of a notification. They hold no text that an agent wrote.

The sentence of a finding may quote a command or an error, so it stays at home. A notification
says the kind, what it is about, since when, and the command that explains it. A chat may read a
name as markup, a link or a mention of everybody: no name here holds a character of those.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core import format as fmt
from core.act.target_grammar import place_name
from core.fleet import Fleet
from core.ids import ProcessKey, SampleKey, TaskKey
from core.model.finding import SEVERITIES, Finding
from core.quoting import plain_word
from core.text import shown

MAX_LINES = 10
"""Findings that one message names; the others are counted."""
_MAX_NAME = 80
_MAX_TARGET = 300
_MARKUP = re.compile(r"[<>@&*`~|\\\[\](){}!#$]|://")
"""What some chat reads as a mention, a link or markup."""


@dataclass(frozen=True, slots=True)
class Message:
    """A notification: a title of one line, and a body of some lines. Plain text."""

    title: str
    body: str


def message_of(fleet: Fleet, findings: Sequence[Finding], now: float) -> Message:
    """Return the message that tells findings: one with its details, several as a digest."""
    ordered = sorted(findings, key=lambda each: (-SEVERITIES.index(each.severity), each.opened_at))
    if len(ordered) == 1:
        return Message(
            title=f"evalroom: {_subject(fleet, ordered[0])}",
            body="\n".join((_since(ordered[0], now), *_command(fleet, ordered[0]))),
        )
    counts = Counter(each.kind for each in ordered)
    kinds = ", ".join(f"{number} {_name(kind, 20)}" for kind, number in counts.most_common())
    lines = [f"{_subject(fleet, each)}, {_since(each, now)}" for each in ordered[:MAX_LINES]]
    if len(ordered) > MAX_LINES:
        lines.append(f"and {len(ordered) - MAX_LINES} more")
    return Message(
        title=f"evalroom: {len(ordered)} findings ({kinds})",
        body="\n".join([*lines, "evalroom triage"]),
    )


def _subject(fleet: Fleet, finding: Finding) -> str:
    """Return the severity, the kind and the names of what a finding is about."""
    words: list[str] = [finding.severity, _name(finding.kind, 20)]
    if finding.machine is not None:
        words.append(f"on {finding.machine}")
    if finding.task is not None:
        task = fleet.tasks.get(finding.task)
        words.append(_name(task.row.task if task is not None else "a task"))
    elif finding.process is not None:
        words.append(f"process {finding.process.pid}")
    elif finding.model:
        words.append(_name(finding.model))
    if finding.sample is not None:
        words.append(_name(f"{finding.sample.sample_id}/{finding.sample.epoch}"))
    return " ".join(words)


def _name(name: str, limit: int = _MAX_NAME) -> str:
    return _MARKUP.sub("·", shown(name, limit))


def _since(finding: Finding, now: float) -> str:
    began = finding.opened_at if finding.began_at is None else finding.began_at
    return f"since {fmt.clock(began)} ({fmt.duration_in_words(max(0.0, now - began))})"


def _command(fleet: Fleet, finding: Finding) -> Sequence[str]:
    """Return the command that explains a finding, about the smallest place of a sane name."""
    places = (finding.sample, finding.task, finding.process)
    for verb, place in zip(("why", "triage", "triage"), places, strict=True):
        target = "" if place is None else _target(place, fleet)
        if 0 < len(target) <= _MAX_TARGET:
            return (f"evalroom {verb} {target}",)
    if finding.machine is not None:
        return (f"evalroom triage {finding.machine}:",)
    return ("evalroom triage",)


def _target(place: ProcessKey | TaskKey | SampleKey, fleet: Fleet) -> str:
    """Return a TARGET that can be typed back, and mentions nobody in a chat."""
    return plain_word(place_name(place, fleet).replace("@", "%40").replace("://", ":%2F%2F"))
