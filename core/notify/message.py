"""The words of a notification. They hold no text that an agent wrote.

The sentence of a finding may quote a command or an error, so it stays at home. A notification
says the kind, what it is about, since when, and the command that explains it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core import format as fmt
from core.act.target_grammar import place_name
from core.fleet import Fleet
from core.ids import SampleKey
from core.model.finding import SEVERITIES, Finding
from core.quoting import plain_word
from core.text import shown

MAX_LINES = 10
"""Findings that one message names; the others are counted."""
_MAX_NAME = 80


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
    kinds = ", ".join(f"{number} {shown(kind, 20)}" for kind, number in counts.most_common())
    lines = [f"{_subject(fleet, each)}, {_since(each, now)}" for each in ordered[:MAX_LINES]]
    if len(ordered) > MAX_LINES:
        lines.append(f"and {len(ordered) - MAX_LINES} more")
    return Message(
        title=f"evalroom: {len(ordered)} findings ({kinds})",
        body="\n".join([*lines, "evalroom triage"]),
    )


def _subject(fleet: Fleet, finding: Finding) -> str:
    """Return the severity, the kind and the names of what a finding is about."""
    words: list[str] = [finding.severity, shown(finding.kind, 20)]
    if finding.machine is not None:
        words.append(f"on {finding.machine}")
    if finding.task is not None:
        task = fleet.tasks.get(finding.task)
        words.append(shown(task.row.task if task is not None else "a task", _MAX_NAME))
    elif finding.process is not None:
        words.append(f"process {finding.process.pid}")
    elif finding.model:
        words.append(shown(finding.model, _MAX_NAME))
    if finding.sample is not None:
        words.append(shown(f"{finding.sample.sample_id}/{finding.sample.epoch}", _MAX_NAME))
    return " ".join(words)


def _since(finding: Finding, now: float) -> str:
    began = finding.opened_at if finding.began_at is None else finding.began_at
    return f"since {fmt.clock(began)} ({fmt.duration_in_words(max(0.0, now - began))})"


def _command(fleet: Fleet, finding: Finding) -> Sequence[str]:
    target: SampleKey | None = finding.sample
    if target is not None:
        return (f"evalroom why {plain_word(place_name(target, fleet))}",)
    place = finding.task or finding.process
    if place is not None:
        return (f"evalroom triage {plain_word(place_name(place, fleet))}",)
    if finding.machine is not None:
        return (f"evalroom triage {finding.machine}:",)
    return ("evalroom triage",)
