"""The table of findings: open ones first, then closed ones."""

from dataclasses import dataclass

from core import format as fmt
from core.fleet import Fleet
from core.model.finding import Finding, Severity
from core.views.cells import Span, Table, Tone, text_cell
from core.views.findings.proposals import proposal_word
from core.views.tables.fields import Fields, field, table, without_column

TONES: dict[Severity, Tone] = {"alarm": "error", "suspect": "warning", "notice": "plain"}
"""The colour of each severity."""
MARKS: dict[Severity, str] = {"alarm": "!", "suspect": "?", "notice": "·"}
"""The mark of each severity, which needs no colour and no room."""
MARKS_HELP = "Marks of findings: alarm (act on it), suspect (check it), notice (nothing to do)."


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding, the name of its subject, and the time now (Unix seconds at the desk)."""

    finding: Finding
    where: str
    now: float

    @property
    def tone(self) -> Tone:
        """Its tone; dim for a closed finding that is not a milestone."""
        finding = self.finding
        if finding.is_milestone and finding.severity == "notice":
            return "good"
        return TONES[finding.severity] if finding.is_open or finding.is_milestone else "dim"

    @property
    def changed_at(self) -> float:
        """When it last changed, Unix seconds at the desk."""
        return newest(self.finding)


def newest(finding: Finding) -> float:
    """Return when a finding last changed, Unix seconds at the desk."""
    times = (finding.opened_at, finding.changed_at, finding.closed_at)
    return max(at for at in times if at is not None)


_RANK: dict[Severity, int] = {"alarm": 0, "suspect": 1, "notice": 2}

FINDING_FIELDS = Fields[FindingLine](
    (
        field(
            "time",
            lambda line: (Span(fmt.clock(line.changed_at), "dim"),),
            lambda line: -line.changed_at,
            width=5,
        ),
        field(
            "mark",
            lambda line: text_cell(MARKS[line.finding.severity], line.tone),
            lambda line: _RANK[line.finding.severity],
            title="",
            width=1,
        ),
        field(
            "severity",
            lambda line: text_cell(line.finding.severity, line.tone),
            lambda line: _RANK[line.finding.severity],
            width=7,
            rank=4,
        ),
        field(
            "kind",
            lambda line: text_cell(line.finding.kind, line.tone),
            lambda line: line.finding.kind,
            width=8,
        ),
        field(
            "where",
            lambda line: text_cell(line.where, "strong" if line.finding.is_open else "plain"),
            lambda line: line.where,
            width=14,
            grow=1,
            rank=1,
        ),
        field(
            "what",
            lambda line: text_cell(_words(line), limit=400),
            lambda line: line.finding.text,
            width=20,
            grow=4,
        ),
        field(
            "next",
            lambda line: text_cell(_next(line.finding), "key"),
            lambda line: _next(line.finding),
            width=18,
            rank=3,
        ),
        field(
            "age",
            lambda line: (Span(fmt.age(line.now - line.finding.opened_at), "dim"),),
            lambda line: line.now - line.finding.opened_at,
            align="right",
            width=4,
            rank=2,
        ),
    )
)


def _words(line: FindingLine) -> str:
    finding = line.finding
    if not finding.is_open:
        return finding.text
    if finding.is_muted(line.now):
        return f"(muted until {fmt.clock(finding.muted_until or 0.0)}) {finding.text}"
    return f"(acknowledged) {finding.text}" if finding.acknowledged_at else finding.text


def _next(finding: Finding) -> str:
    """Return the first action that an open finding proposes; empty: none."""
    if not finding.proposals or not finding.is_open:
        return ""
    return f"→ {proposal_word(finding.proposals[0])}"


def _where(fleet: Fleet, finding: Finding) -> str:
    words = [str(finding.machine)] if finding.machine is not None else []
    if finding.task is not None:
        task = fleet.tasks.get(finding.task)
        words.append(task.row.task if task is not None else finding.task.task_id)
    elif finding.process is not None:
        words.append(str(finding.process.pid))
    if finding.sample is not None:
        words.append(f"{finding.sample.sample_id}/{finding.sample.epoch}")
    return " ".join(words)


def findings_table(fleet: Fleet, now: float) -> Table[str]:
    """Return the findings by id: open ones first, errors before warnings."""
    lines = [FindingLine(each, _where(fleet, each), now) for each in fleet.findings]
    lines.sort(
        key=lambda line: (
            not line.finding.is_open,
            line.finding.is_open and not line.finding.needs_attention(now),
            _RANK[line.finding.severity] if line.finding.is_open else 0,
            -line.changed_at,
        )
    )
    has_next = any(_next(line.finding) for line in lines)
    still = sum(line.finding.is_open for line in lines)
    found = table(
        FINDING_FIELDS,
        (
            FINDING_FIELDS.row(
                line.finding.id, line, "plain" if line.finding.needs_attention(now) else "dim"
            )
            for line in lines
        ),
        title="Findings",
        footer=f"{still} open · {len(lines) - still} closed" if lines else "",
        empty="no findings",
    )
    return found if has_next else without_column(found, "next")
