"""What the operator may mute from a finding, and for how long."""

from dataclasses import dataclass

from core.fleet import Fleet
from core.model.finding import Finding
from core.model.mute import Mute
from core.text import Shown, shown

MUTE_TIMES: tuple[tuple[str, float], ...] = (
    ("30 minutes", 1_800.0),
    ("2 hours", 7_200.0),
    ("8 hours", 28_800.0),
    ("1 day", 86_400.0),
    ("7 days", 604_800.0),
)
"""Times that the dialog offers, each with its seconds."""

_MAX_NAME_CHARACTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteBreadth:
    """One entry of the dialog.

    Attributes:
        title: What is muted: `this finding`.
        mute: The mute, without a time.
        ends: The mutes that the entry ends; empty: it mutes.
    """

    title: Shown
    mute: Mute
    ends: tuple[Mute, ...] = ()


def breadths(fleet: Fleet, finding: Finding, now: float) -> tuple[MuteBreadth, ...]:
    """Return what may be muted from a finding, the narrowest first; a muted one offers its end."""
    task = fleet.tasks.get(finding.task) if finding.task is not None else None
    kind = shown(finding.kind, _MAX_NAME_CHARACTERS)
    found: list[MuteBreadth] = []
    held = tuple(each for each in fleet.mutes if each.until > now and each.covers(finding))
    if held:
        found.append(MuteBreadth(title=shown("End its mute"), mute=held[0], ends=held))
    found.append(MuteBreadth(title=shown("this finding"), mute=Mute(until=0.0, finding=finding.id)))
    if finding.task is not None:
        row = task.row.task if task is not None else finding.task.task_id
        name = shown(row, _MAX_NAME_CHARACTERS)
        of_kind = Mute(until=0.0, kind=finding.kind, task=finding.task)
        found += [
            MuteBreadth(title=shown(f'findings "{kind}" of task {name}'), mute=of_kind),
            MuteBreadth(
                title=shown(f"all findings of task {name}"), mute=Mute(until=0.0, task=finding.task)
            ),
        ]
    every = shown(f'all findings "{kind}"')
    found.append(MuteBreadth(title=every, mute=Mute(until=0.0, kind=finding.kind)))
    return tuple(found)
