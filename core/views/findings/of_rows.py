"""The open finding that the row of a task or a sample shows."""

from collections.abc import Mapping

from core import format as fmt
from core.fleet import Fleet
from core.ids import TaskKey
from core.model.finding import SEVERITIES, Finding
from core.model.sample import SampleId
from core.views.cells import UNKNOWN, Cell, Tone, text_cell

_WORDS = {"stall": "stalled", "loop": "looping", "retries": "retrying", "tail": "last samples"}
"""What a row says of some kinds; of the others, their name."""
_SIGN = "⚠"
FINDING_COLUMN = "finding"
"""The name of the column; a table without findings leaves it out."""


def finding_of_tasks(fleet: Fleet) -> Mapping[TaskKey, Finding]:
    """Return the worst open finding of each task and its samples; the newest of equals.

    Findings that stay open for the operator are not among them: the task's own row tells those.
    """
    worst: dict[TaskKey, Finding] = {}
    for finding in fleet.findings:
        if finding.task is not None and _shows(finding, fleet.at):
            worst[finding.task] = _worse(worst.get(finding.task), finding)
    return worst


def finding_of_samples(fleet: Fleet, task: TaskKey) -> Mapping[SampleId, Finding]:
    """Return the worst open finding of each sample of a task; the newest of equals."""
    worst: dict[SampleId, Finding] = {}
    for finding in fleet.findings:
        sample = finding.sample
        if sample is not None and sample.task == task and _shows(finding, fleet.at):
            key = (sample.sample_id, sample.epoch)
            worst[key] = _worse(worst.get(key), finding)
    return worst


def finding_cell(finding: Finding | None, now: float, *, is_known: bool) -> Cell:
    """Return a finding in a few words: `⚠ stalled 4:12`; empty where there is no finding.

    Args:
        finding: The finding.
        now: Unix seconds at the desk.
        is_known: Whether its subject can be read now; if not, no time runs on.
    """
    if finding is None:
        return UNKNOWN
    tone: Tone = "error" if finding.severity == "alarm" else "warning"
    words = f"{_SIGN} {finding_word(finding)}"
    if is_known and finding.began_at is not None:
        words += f" {fmt.duration(now - finding.began_at)}"
    return text_cell(words, tone, 60)


def finding_word(finding: Finding | None) -> str:
    """Return one or two words of a finding; empty where there is no finding."""
    return "" if finding is None else _WORDS.get(finding.kind, finding.kind)


def _shows(finding: Finding, at: float) -> bool:
    return finding.sign != "" and finding.severity != "notice" and finding.needs_attention(at)


def _worse(one: Finding | None, other: Finding) -> Finding:
    """Return the more severe of two findings; `one` is the newer one."""
    if one is None:
        return other
    rank = SEVERITIES.index
    return other if rank(other.severity) > rank(one.severity) else one
