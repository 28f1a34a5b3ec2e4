"""The commands that carry out what a finding proposes."""

from core.act.target_grammar import place_name
from core.fleet import Fleet
from core.ids import ModelKey, Target
from core.model.action import Change
from core.model.finding import Finding, Proposal
from core.quoting import plain_word


def proposed_target(finding: Finding, proposal: Proposal) -> Target | None:
    """Return what a proposal of a finding would act on; None: the finding names no such thing."""
    process = finding.process or (finding.task.process if finding.task is not None else None)
    match proposal.scope:
        case "sample":
            return finding.sample
        case "task":
            return finding.task
        case "process":
            return process
        case "model":
            return ModelKey(process, finding.model) if process and finding.model else None


def proposed_command(fleet: Fleet, finding: Finding, proposal: Proposal) -> str:
    """Return the `evalroom` command of a proposal, to paste into a shell; empty: it has none.

    The command asks before it acts, as it always does.
    """
    target = proposed_target(finding, proposal)
    if target is None:
        return ""
    place = plain_word(place_name(target, fleet))
    if proposal.action == "config":
        settings = " ".join(_setting(change) for change in proposal.changes)
        return f"evalroom config-set {place} {settings}".rstrip()
    model = f" --model {plain_word(target.model)}" if isinstance(target, ModelKey) else ""
    return f"evalroom act {proposal.action} {place}{model}"


def _setting(change: Change) -> str:
    value = "clear" if change.value is None else str(change.value)
    return f"--{change.knob.replace('_', '-')} {value}"
