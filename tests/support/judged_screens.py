"""All texts that the judge's screens, reports and notifications make of a fleet."""

import json
from collections.abc import Iterator
from typing import Any

from core.config.judge import JudgeConfig
from core.desk.step import advance
from core.events import LinkHeard, TimePassed
from core.fleet import Fleet
from core.frames import Frame
from core.ids import SampleKey
from core.notify.message import MAX_LINES, message_of
from core.views.cells import Span
from core.views.look import Look, look_at
from core.views.pages.finding_page import finding_page
from core.views.since import since_lines
from core.views.triage.lines import triage_lines
from core.views.triage.report import triage
from core.views.triage.why import why, why_lines
from tests.support.fleets import NOW, link, named
from tests.support.observing import Observed

RULES = JudgeConfig()


def messages(fleet: Fleet, now: float) -> Iterator[str]:
    """Yield the lines of the notifications of all findings: of each alone, and of all together."""
    found = fleet.findings
    for findings in (*([each] for each in found[: 2 * MAX_LINES]), *([found] if found else [])):
        message = message_of(fleet, findings, now)
        yield message.title
        yield from message.body.split("\n")


def finding_texts(fleet: Fleet, now: float) -> Iterator[str]:
    """Yield the texts of the pages of all findings, and of the findings themselves."""
    for finding in fleet.findings[:20]:
        page = finding_page(fleet, finding.id, now)
        yield page.title
        for section in page.sections:
            yield section.title
            for fact in section.facts:
                yield fact.label
                yield from (part.text for part in fact.value if isinstance(part, Span))


def reports(fleet: Fleet, now: float, before: Look | None = None) -> Iterator[str]:
    """Yield the lines of triage, of why for each process and sample, and of what changed since."""
    lines = [*triage_lines(fleet, triage(fleet, None, RULES, now))]
    lines += since_lines(before or look_at(Fleet(), now), fleet)
    for process in fleet.processes:
        lines += why_lines(why(fleet, process, RULES, now))
    for key, task in fleet.tasks.items():
        lines += triage_lines(fleet, triage(fleet, key, RULES, now))
        for sample_id, epoch in list(task.samples)[:5]:
            lines += why_lines(why(fleet, SampleKey(key, sample_id, epoch), RULES, now))
    for line in lines:
        yield from (part.text for part in line)


def judged_texts(fleet: Fleet, now: float, before: Look | None = None) -> Iterator[str]:
    """Yield all of them."""
    yield from messages(fleet, now)
    yield from finding_texts(fleet, now)
    yield from reports(fleet, now, before)


class Judged(Observed):
    """An observer whose fleet is judged, too."""

    def __init__(self) -> None:
        super().__init__()
        for event in (named(), link(at=NOW - 10)):
            self.fleet = advance(self.fleet, event)

    def receive(self, kind: str, body: object = None, **head: Any) -> list[Any]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        events = self.observer.events_of(Frame(kind, {"at": self.now, **head}, raw), self.now)
        for event in events:
            self.fleet = advance(self.fleet, event)
        return [event for event in events if not isinstance(event, LinkHeard)]

    def pass_time(self) -> None:
        """A minute went by."""
        self.fleet = advance(self.fleet, TimePassed(at=self.now))
