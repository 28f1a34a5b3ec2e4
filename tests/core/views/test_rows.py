"""What rows of machines, processes and findings say, and the header."""

from dataclasses import replace

from core.events import ReadFailed
from core.model.finding import Finding, Severity
from core.model.log_summary import LogBuffer
from core.model.machine import LinkState, ToolState
from core.model.process import ProcessState
from core.views.cells import Table
from core.views.header.totals import header_totals, title
from core.views.pages.task_page import task_page
from core.views.tables.findings import findings_table
from core.views.tables.machines import link_words, machines_table
from core.views.tables.processes import processes_table
from core.views.tables.samples import samples_table
from core.views.tables.tasks import tasks_table
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    facts,
    fleet_after,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_key,
    process_seen,
    running_fleet,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.fleets import judged_after as judged
from tests.support.table_rows import cell_text, page_text, text
from tui.panes.columns import natural_widths, place


def test_a_machine_line_says_its_gpus_its_load_and_its_link() -> None:
    fleet = fleet_after(named(), named(H2), link(), facts(), process_seen())
    fleet = fleet_after(
        link(LinkState.DOWN, machine=H2, at=NOW, reason="no route", retry_at=NOW + 128),
        fleet=fleet,
    )
    table = machines_table(fleet, NOW + 120)
    lost, up = table.rows
    assert (lost.key, text(lost, "sign"), text(lost, "link")) == (H2, "○", "down 2m retry 8s")
    assert text(lost, "why") == "no route"
    assert lost.cells["gpu"] == ()
    assert text(up, "gpu") == "2\u00d7 [0.51]"
    assert (text(up, "load"), text(up, "link"), text(up, "evals")) == ("3.2", "up", "1")


def test_a_stuck_gpu_tool_and_lost_gpus_are_reported() -> None:
    stuck = fleet_after(named(), link(), facts(gpu_state=ToolState.STUCK))
    assert text(machines_table(stuck, NOW).rows[0], "gpu") == "2\u00d7 stuck"
    none = fleet_after(named(), link(), facts(gpus=(), gpu_tool=None, gpu_state=ToolState.ABSENT))
    assert text(machines_table(none, NOW).rows[0], "gpu") == "none"


def test_a_process_line_is_short_and_names_its_program() -> None:
    fleet = fleet_after(
        ReadFailed(at=NOW, process=process_key(), what="tasks", reason="http 500"),
        fleet=running_fleet(),
    )
    [row] = processes_table(fleet, NOW, H1).rows
    assert text(row, "command") == "inspect eval ctf.py"
    assert (text(row, "state"), text(row, "time")) == ("live", "5:00")
    assert text(row, "trouble") == "tasks: http 500"
    assert processes_table(fleet, NOW, H2).rows == ()


def test_a_process_that_is_gone_is_paused_no_more() -> None:
    held = task_row(process_paused=True, paused=("process",))
    fleet = fleet_after(tasks_seen(held), fleet=running_fleet())
    assert text(processes_table(fleet, NOW, H1).rows[0], "state") == "live paused"
    fleet = fleet_after(process_gone(), fleet=fleet)
    assert text(processes_table(fleet, NOW, H1).rows[0], "state") == "gone 0s"


def test_a_lost_eval_whose_log_has_no_samples_says_so() -> None:
    lost = log_read("started", samples=logged())
    fleet = fleet_after(process_gone(), lost, fleet=running_fleet())
    assert samples_table(fleet, task_key(), NOW).empty == "its log has no samples"
    held = log_read("started", samples=logged(), buffer=LogBuffer(completed=1, in_progress=1))
    fleet = fleet_after(process_gone(), held, fleet=running_fleet())
    assert "open the task to see what can be recovered" in (
        samples_table(fleet, task_key(), NOW).empty
    )


def test_open_findings_come_first_and_errors_before_the_rest() -> None:
    fleet = judged(
        named(),
        link(),
        process_seen(started_at=NOW - 1),
        tasks_seen(task_row(errored=1)),
        link(LinkState.DOWN, at=NOW + 9, reason="no route"),
    )
    table = findings_table(fleet, NOW + 60)
    assert [text(row, "kind") for row in table.rows] == ["link", "errors", "process"]
    assert [row.tone for row in table.rows] == ["plain", "plain", "dim"]
    assert text(table.rows[1], "where") == "h100-1 gdm_intercode_ctf"
    assert table.footer == "2 open · 1 closed"


def test_the_header_counts_and_the_title_says_what_needs_attention() -> None:
    fleet = judged(
        named(),
        named(H2),
        link(),
        process_seen(),
        tasks_seen(task_row(flying=38), task_row("t2", paused=("task",), flying=3)),
    )
    groups = [cell_text(group) for group in header_totals(fleet, NOW)]
    assert groups == [
        "2 machines 1 connecting",
        "2 tasks 1 paused 1 running",
        "41 in flight",
    ]
    assert title(fleet) == "evalroom: 2 running"
    lost = judged(link(LinkState.DOWN, machine=H2), fleet=fleet)
    assert title(lost) == "evalroom: 1 down, 1 alarm"


def test_an_unknown_number_is_not_called_nothing() -> None:
    fleet = judged(named(), link(), process_seen(), tasks_seen(task_row(flying=38)))
    down = judged(link(LinkState.DOWN), fleet=fleet)
    assert cell_text(header_totals(down, NOW)[-1]) == "unknown in flight"
    assert cell_text(header_totals(judged(named()), NOW)[-1]) == "unknown in flight"
    old = judged(named(), link(), process_seen(), tasks_seen(task_row(flying=None)))
    assert "unknown in flight" in [cell_text(group) for group in header_totals(old, NOW)]


def test_a_table_without_tasks_says_whether_there_are_none_or_nobody_knows() -> None:
    live = judged(named(), link(), process_seen())
    assert tasks_table(live, NOW).empty == "no process has started a task yet"
    for unknown in (
        judged(link(LinkState.DOWN), fleet=live),
        judged(process_seen(state=ProcessState.HEADLESS), fleet=live),
    ):
        assert str(tasks_table(unknown, NOW).empty).startswith("tasks are unknown")


def test_a_lost_task_offers_what_its_buffer_holds_with_a_preview() -> None:
    fleet = judged(
        named(), link(), process_seen(python="/v/bin/python3", data_dir="/data/a b"),
        tasks_seen(task_row()), process_gone(),
        log_read("started", buffer=LogBuffer(completed=7, in_progress=2)),
    )  # fmt: skip
    found = page_text(task_page(fleet, task_key(), NOW))
    assert "7 finished samples and 2 that were running" in found
    command = "/v/bin/python3 -m inspect_ai log recover /logs/t1.eval"
    assert f"XDG_DATA_HOME='/data/a b' {command}" in found
    [lost] = [each for each in fleet.findings if each.kind == "lost"]
    assert "its buffer holds 7 finished samples" in lost.text
    assert "recover" not in page_text(
        task_page(judged(log_read("started"), fleet=fleet), task_key(), NOW)
    )


def test_a_link_that_is_tried_now_says_so() -> None:
    fleet = judged(named(), link(), link(LinkState.DOWN, at=NOW + 10, retry_at=NOW + 18))
    machine = fleet.machines[H1]
    assert cell_text(link_words(machine, NOW + 14)) == "down 4s retry 4s"
    assert cell_text(link_words(machine, NOW + 18)) == "down 8s trying now"


def test_a_process_is_parked_since_its_evals_were_over_on_whatever_clock() -> None:
    over = task_row(status="completed", completed_at=NOW - 7_200, keep_alive=True)
    fleet = judged(named(), link(), process_seen(started_at=NOW - 9_000), tasks_seen(over))
    [row] = processes_table(fleet, NOW).rows
    assert "parked 2h" in text(row, "state")


def test_a_process_that_starts_counts_from_its_own_start() -> None:
    starting = process_seen(state=ProcessState.STARTING, started_at=NOW - 300)
    [row] = processes_table(judged(named(), link(), starting), NOW).rows
    assert "starting 5m" in text(row, "state")


def test_the_header_counts_alarms_suspects_and_notices_apart() -> None:
    fleet = judged(named())
    severities: tuple[Severity, ...] = ("suspect", "alarm", "notice", "alarm", "suspect", "suspect")
    findings = tuple(
        Finding(id=str(n), kind="x", severity=each, opened_at=NOW, machine=H1, text="x")
        for n, each in enumerate(severities)
    )
    fleet = replace(fleet, findings=findings)
    assert cell_text(header_totals(fleet, NOW)[1]) == "2 alarms 3 suspects 1 notice"


def test_how_bad_a_finding_is_needs_no_colour() -> None:
    fleet = judged(
        named(),
        link(),
        process_seen(started_at=NOW - 1),
        tasks_seen(task_row(errored=1)),
        link(LinkState.DOWN, at=NOW + 9, reason="no route"),
    )
    table = findings_table(fleet, NOW + 60)
    marked = [(text(row, "mark"), text(row, "severity")) for row in table.rows]
    assert marked == [("!", "alarm"), ("?", "suspect"), ("·", "notice")]
    wide, narrow = (shown_columns(table, width) for width in (116, 60))
    assert {"mark", "severity"} <= wide
    assert "mark" in narrow
    assert "severity" not in narrow


def shown_columns(table: Table[str], width: int) -> set[str]:
    natural = natural_widths(table.columns, table.rows, {})
    return {each.column.name for each in place(table.columns, natural, width)}
