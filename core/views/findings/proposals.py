"""What a finding proposes, in words, and as a table of its actions."""

from core.act.proposed_commands import proposed_command, proposed_target
from core.fleet import Fleet
from core.model.action import OFFERS, Action, Change, Verb
from core.model.finding import Finding, Proposal
from core.text import Shown, shown
from core.views.cells import Column, Row, Span, Table, text_cell
from core.views.findings.names import scope_of, subject_of

_MAX_NAME_CHARACTERS = 40
OPENS = -1
"""The row that opens what the finding is about."""
_OPENED = frozenset({"sample", "task", "process", "machine"})


def proposal_word(proposal: Proposal) -> Shown:
    """Return a proposal in a few words: `cancel tool call`, `set max samples to 4`."""
    if proposal.action == Verb.CONFIG:
        return shown(f"set {', '.join(_setting(each) for each in proposal.changes)}", 80)
    offer = next((each for each in OFFERS if _is_of(proposal, each.name, each.scope)), None)
    return shown(offer.word if offer is not None else proposal.action, _MAX_NAME_CHARACTERS)


def proposed_action(proposal: Proposal) -> Action | None:
    """Return the action of a proposal; None: evalroom knows no such action."""
    if proposal.action == Verb.CONFIG:
        return Action(verb=Verb.CONFIG, changes=proposal.changes)
    found = (each.action for each in OFFERS if _is_of(proposal, each.name, each.scope))
    return next(found, None)


def actions_table(fleet: Fleet, finding: Finding) -> Table[int]:
    """Return the actions that a finding proposes, each by its place in the list, then `OPENS`."""
    columns = (
        Column(name="action", title=Shown("action"), width=20),
        Column(name="command", title=Shown("the same as a command"), grow=1),
    )
    rows = tuple(
        Row(
            key=index,
            cells={
                "action": (Span(Shown(f"→ {proposal_word(each)}"), "key"),),
                "command": text_cell(proposed_command(fleet, finding, each), "dim", 400),
            },
            sort={},
        )
        for index, each in enumerate(finding.proposals)
        if proposed_target(finding, each) is not None and finding.is_open
    )
    subject = scope_of(finding)
    if subject in _OPENED:
        opens = Span(Shown(f"open the {subject}"), "key")
        about = text_cell(subject_of(finding, fleet), "dim", 400)
        rows = (*rows, Row(key=OPENS, cells={"action": (opens,), "command": about}, sort={}))
    return Table(
        columns=columns,
        rows=rows,
        title=Shown("Actions"),
        footer=Shown("each has a preview" if len(rows) > 1 else ""),
        empty=Shown("no action is proposed"),
    )


def _is_of(proposal: Proposal, name: str, scope: str) -> bool:
    return (name, scope) == (proposal.action, proposal.scope)


def _setting(change: Change) -> str:
    value = "its default" if change.value is None else str(change.value)
    return f"{change.knob.replace('_', ' ')} to {value}"
