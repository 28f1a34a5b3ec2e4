"""No view raises on, or lets through, anything that a host may send."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unicodedata import category

from hypothesis import given, settings
from hypothesis import strategies as st

from core.desk.step import advance
from core.events import Event
from core.fleet import Fleet
from core.ids import SampleKey
from core.text import Shown
from core.views.cells import Bar, Span, Table
from core.views.header.totals import header_totals, title
from core.views.pages.machine_page import machine_page
from core.views.pages.page import Page
from core.views.pages.process_page import process_page
from core.views.pages.run_page import run_page
from core.views.pages.sample_page import sample_page
from core.views.pages.task_page import task_page
from core.views.tables.filter_and_sort import filter_rows, sort_rows
from core.views.tables.findings import findings_table
from core.views.tables.machines import machines_table
from core.views.tables.processes import processes_table
from core.views.tables.runs import runs_table
from core.views.tables.samples import samples_table
from core.views.tables.tasks import tasks_table
from tests.support.events import BY_KIND, KINDS, any_event
from tests.support.fleets import H1, fleet_after, link, named, process_key, task_key, task_row
from tests.support.judged_screens import judged_texts
from tests.support.model_values import MACHINES, numbers

_ACTED_ON = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that a terminal may act on or hide."""


def _cells(cells: Any) -> Iterator[Shown]:
    for cell in cells:
        for part in cell:
            if isinstance(part, Span):
                yield part.text
            else:
                assert isinstance(part, Bar)
                assert 0 <= part.failed <= 1
                assert 0 <= part.done <= 1


def _table(table: Table[Any]) -> Iterator[Shown]:
    yield from (table.title, table.footer, table.empty)
    for row in table.rows:
        yield from _cells(row.cells.values())
        yield Shown(row.search)
    for column in table.columns:
        sort_rows(table, column.name, reverse=True)
    filter_rows(table, "!/a(/")


def _page(page: Page) -> Iterator[Shown]:
    yield page.title
    for section in page.sections:
        yield section.title
        for fact in section.facts:
            yield fact.label
            yield from _cells([fact.value])


def _everything(fleet: Fleet, now: float) -> Iterator[Shown]:
    yield from _table(machines_table(fleet, now))
    yield from _table(processes_table(fleet, now))
    yield from _table(tasks_table(fleet, now))
    yield from _table(findings_table(fleet, now))
    yield from _table(runs_table(fleet, now))
    for run in fleet.runs.values():
        yield from _page(run_page(fleet, run, now))
    yield from _table(samples_table(fleet, None, now))
    yield from _cells(header_totals(fleet, now))
    yield title(fleet)
    for machine in fleet.machines:
        yield from _page(machine_page(fleet, machine, now))
    for process in fleet.processes:
        yield from _page(process_page(fleet, process, now))
    for key, task in fleet.tasks.items():
        yield from _page(task_page(fleet, key, now))
        yield from _table(samples_table(fleet, key, now))
        for sample_id, epoch in task.samples:
            yield from _page(sample_page(fleet, SampleKey(key, sample_id, epoch), now))


def _assert_harmless(fleet: Fleet, now: float) -> None:
    for text in (*_everything(fleet, now), *judged_texts(fleet, now)):
        assert not _ACTED_ON & {category(char) for char in text}, repr(text)
        assert len(text) < 20_000


@given(st.lists(any_event(), min_size=1, max_size=25), st.floats(0, 4e9) | numbers)
@settings(max_examples=60)
def test_no_view_raises_or_shows_a_control_character(events: list[Event], now: float) -> None:
    fleet = Fleet()
    for event in [*(named(machine) for machine in MACHINES), *events]:
        fleet = advance(fleet, event)
    _assert_harmless(fleet, now)


_WHOLE = st.fixed_dictionaries({kind.__name__: BY_KIND[kind] for kind in KINDS}, optional={})


@given(_WHOLE, st.booleans(), st.floats(0, 4e9) | numbers)
@settings(max_examples=30)  # each is looked at twelve times
def test_a_fleet_that_is_hostile_in_every_field_is_shown_harmless(
    events: dict[str, Any], is_up: bool, now: float
) -> None:
    """Every kind of event, each about the same machine, process and task."""
    fleet = fleet_after(named(), link()) if is_up else fleet_after(named())
    process, task = process_key(), task_key()
    about = {"machine": H1, "process": process, "task": task, "eval_id": "e1"}
    rows = tuple(replace(row, task_id="t1", eval_id="e1") for row in events["TasksSeen"].rows)
    events["TasksSeen"] = replace(events["TasksSeen"], rows=rows or (task_row(eval_id="e1"),))
    for name in _ORDER:
        event = events[name]
        known = {each: value for each, value in about.items() if hasattr(event, each)}
        fleet = advance(fleet, replace(event, **known))
        _assert_harmless(fleet, now)


_ORDER = (
    "ProbeAnswered",
    "MachineRead",
    "ProcessSeen",
    "TasksSeen",
    "ScoreSeen",
    "SamplesSeen",
    "CausesSeen",
    "OperationsSeen",
    "ReadFailed",
    "LinkChanged",
    "LogUnreadable",
    "LogRead",
    "ProcessGone",
    "DeadEvalFound",
    "RunChanged",
)
