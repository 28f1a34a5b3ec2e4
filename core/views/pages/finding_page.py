"""The page of one finding: its evidence, its cause, what closes it, what happened around it."""

from collections.abc import Iterator, Sequence

from core import format as fmt
from core.fleet import Fleet
from core.judge.finding_list import with_id
from core.model.finding import ACKNOWLEDGED, Finding
from core.model.sample_detail import SampleEvent
from core.text import shown
from core.views.cells import Span, span_of
from core.views.findings.names import short_id, subject_of
from core.views.findings.proposals import proposal_word
from core.views.pages.detail_lines import event_words
from core.views.pages.page import Fact, Page, fact, page, section, words
from core.views.tables.findings import TONES, newest

AROUND_S = 900.0
"""How long before and after a finding's beginning other events count as around it, seconds."""
_MAX_AROUND = 20


def finding_page(
    fleet: Fleet, finding_id: str, now: float, events: Sequence[SampleEvent] = ()
) -> Page:
    """Return a finding's page.

    Args:
        fleet: All that is known.
        finding_id: The id of the finding.
        now: Unix seconds at the desk.
        events: The last events of its sample, oldest first, where they were read.
    """
    finding = with_id(fleet, finding_id)
    if finding is None:
        gone = words("", "this finding is no longer kept")
        return page("Finding", (section("", (gone,)),))
    return page(
        f"{finding.kind} {short_id(finding)}",
        (
            section("Finding", _facts(fleet, finding, now)),
            section("What may help", _help(finding)),
            section("Last events of its sample", map(_event, events)),
            section("Around it", _around(fleet, finding)),
        ),
    )


def _facts(fleet: Fleet, finding: Finding, now: float) -> Iterator[Fact]:
    yield fact("severity", (span_of(finding.severity, TONES[finding.severity]),))
    yield words("about", subject_of(finding, fleet), "strong", 400)
    yield words("evidence", finding.text, limit=4_000)
    yield words("likely cause", finding.cause or "unknown", limit=1_000)
    began = finding.opened_at if finding.began_at is None else finding.began_at
    until = now if finding.closed_at is None else finding.closed_at
    lasted = fmt.duration(until - began)
    yield words("since", f"{fmt.clock(began, seconds=True)} ({lasted})")
    yield words("opened", fmt.clock(finding.opened_at, seconds=True))
    if finding.closed_at is not None:
        yield words("closed", fmt.clock(finding.closed_at, seconds=True))
    elif finding.is_kept:
        yield words("closes when", ACKNOWLEDGED)
    else:
        yield words("closes when", finding.closes_when or "it no longer applies")
    if finding.count > 1:
        yield words("count", finding.count)
    if finding.acknowledged_at is not None:
        yield words("acknowledged", fmt.clock(finding.acknowledged_at, seconds=True))
    if finding.is_muted(now):
        left = fmt.duration_in_words((finding.muted_until or now) - now)
        yield words("muted", f"for {left} more", "warning")


def _help(finding: Finding) -> Iterator[Fact]:
    for proposal in finding.proposals if finding.is_open else ():
        yield fact("", (Span(shown(f"→ {proposal_word(proposal)}"), "key"),))


def _event(event: SampleEvent) -> Fact:
    at = "" if event.at is None else fmt.clock(event.at, seconds=True)
    return words(at, event_words(event), "error" if event.has_error else "plain")


def _around(fleet: Fleet, finding: Finding) -> Iterator[Fact]:
    began = finding.opened_at if finding.began_at is None else finding.began_at
    until = newest(finding) + AROUND_S
    about = {finding.task, finding.process, finding.machine} - {None}
    moments = [
        (each.opened_at, f"{each.severity} {each.kind}, {subject_of(each, fleet)}: {each.text}")
        for each in fleet.findings
        if each.id != finding.id and about & ({each.task, each.process, each.machine} - {None})
    ]
    moments += [
        (each.at, f"{each.instance.operator} ordered {each.action.verb} of {each.name}")
        for each in fleet.orders
        if about & {each.address.process, each.address.process.machine}
    ]
    near = sorted(each for each in moments if began - AROUND_S <= each[0] <= until)
    for at, what in near[-_MAX_AROUND:]:
        yield words(fmt.clock(at, seconds=True), what, limit=300)
