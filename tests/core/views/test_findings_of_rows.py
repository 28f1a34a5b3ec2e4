"""The column of findings: in words, by the sample's open finding, and only where there is one."""

from dataclasses import replace

from core.desk.step import advance
from core.finding_events import FindingsAcknowledged
from core.fleet import Fleet
from core.model.machine import LinkState
from core.views.findings.of_rows import finding_of_tasks
from core.views.tables.samples import samples_table
from core.views.tables.tasks import tasks_table
from tests.support.fleets import NOW, link, running_fleet, task_key
from tests.support.stalls import stalled_fleet
from tui.terminal.output_filters import to_ascii


def cells(fleet: Fleet, now: float) -> list[str]:
    """The texts of the column on the tasks, then on the samples."""
    tables = tasks_table(fleet, now), samples_table(fleet, task_key(), now)
    return [
        "".join(span.text for span in row.cells["finding"])  # type: ignore[union-attr]
        for each in tables
        for row in each.rows
    ]


def names(fleet: Fleet) -> set[str]:
    both = tasks_table(fleet, NOW), samples_table(fleet, task_key(), NOW)
    return {column.name for each in both for column in each.columns}


def test_a_row_says_in_words_what_is_wrong_with_it_and_for_how_long() -> None:
    fleet = stalled_fleet()
    assert cells(fleet, NOW + 700) == ["⚠ stalled 11:40"] * 2
    assert to_ascii(cells(fleet, NOW + 700)[0]) == "! stalled 11:40"
    assert "finding" in names(fleet)


def test_without_a_finding_there_is_no_column() -> None:
    assert "finding" not in names(running_fleet())
    fleet = stalled_fleet()
    [stall] = fleet.findings
    seen = advance(fleet, FindingsAcknowledged(at=NOW + 700, findings=(stall.id,)))
    assert "finding" not in names(seen)


def test_no_time_runs_on_while_the_machine_can_not_be_reached() -> None:
    fleet = advance(stalled_fleet(), link(LinkState.DOWN, at=NOW + 710))
    assert cells(fleet, NOW + 5_000) == ["⚠ stalled"] * 2


def test_the_worst_finding_of_a_task_wins_and_the_newest_of_equals() -> None:
    fleet = stalled_fleet()
    [stall] = fleet.findings
    mild = replace(stall, id="mild", kind="loop", severity="suspect")
    newer = replace(stall, id="newer", kind="tail")
    found = finding_of_tasks(replace(fleet, findings=(mild, newer, stall)))
    assert found[task_key()].id == "newer"
