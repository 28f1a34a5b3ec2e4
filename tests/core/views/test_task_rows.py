"""What a row of a task says."""

from core.fleet import Fleet
from core.model.log_summary import ErrorGroup
from core.model.machine import LinkState
from core.model.process import ProcessState
from core.views.cells import span_of
from core.views.header.totals import header_totals
from core.views.pages.task_page import task_page
from core.views.tables.samples import samples_table
from core.views.tables.tasks import tasks_table
from tests.support.fleets import (
    H2,
    NOW,
    fleet_after,
    fleet_of_tasks,
    judged_after,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.table_rows import cell_text, page_text, row_of, text, tone


def test_a_task_line_holds_what_is_known_of_it() -> None:
    fleet = fleet_of_tasks(task_row(done=59, errored=2, flying=38, queued=1, attempts=2))
    [row] = tasks_table(fleet, NOW + 3).rows
    assert {name: text(row, name) for name in row.cells} == {
        "sign": "▶",
        "machine": "h100-1",
        "finding": "",
        "task": "gdm_intercode_ctf",
        "model": "acme/sec-agent",
        "progress": "[0.61]",
        "done": "59/100",
        "err": "2",
        "fly": "38",
        "queued": "1",
        "latch": "",
        "tries": "2",
        "tokens": "48k",
        "tok/min": "",
        "http": "0",
        "refused": "0",
        "left": "unknown",
        "score": "",
        "log": "/logs/t1.eval",
        "age": "3s",
    }


def test_an_unknown_value_is_empty_and_never_zero() -> None:
    row = task_row(
        flying=None, queued=None, total_tokens=None, http_retries=None, refusals=None, total=0
    )
    [line] = tasks_table(fleet_of_tasks(row), NOW).rows
    for name in ("fly", "queued", "tokens", "http", "refused", "progress", "done", "score"):
        assert line.cells[name] == (), name
        assert line.sort[name][0] == 2 or name == "done"


def test_trouble_comes_first_and_done_tasks_last() -> None:
    fleet = fleet_of_tasks(
        task_row("fine"),
        task_row("done", status="completed"),
        task_row("failed", status="completed"),
        task_row("finishing", status="completed"),
        task_row("errors", errored=3),
        task_row("held", paused=("task",)),
    )
    fleet = fleet_after(
        log_read("success", task=task_key("done")),
        log_read("error", task=task_key("failed")),
        named(H2),
        link(machine=H2),
        process_seen(H2),
        tasks_seen(task_row("away"), machine=H2),
        link(LinkState.DOWN, machine=H2),
        fleet=fleet,
    )
    order = [row.key.task_id for row in tasks_table(fleet, NOW).rows]
    assert order == ["failed", "errors", "held", "fine", "away", "finishing", "done"]


def test_equal_tasks_keep_their_order_while_they_go_on() -> None:
    fleet = fleet_of_tasks(task_row("b", done=1), task_row("a", done=90))
    before = [row.key for row in tasks_table(fleet, NOW).rows]
    fleet = fleet_after(tasks_seen(task_row("b", done=50), task_row("a", done=99)), fleet=fleet)
    assert [row.key for row in tasks_table(fleet, NOW).rows] == before


def test_a_latch_says_who_holds_it_how_hard_and_how_many() -> None:
    fleet = fleet_of_tasks(
        task_row("a", paused=("task", "process"), paused_now=("process",), held=3),
        task_row("b", paused=("model",), quiesced=True),
        task_row("c", resolving="drain"),
    )
    table = tasks_table(fleet, NOW)
    assert text(row_of(table, task_key("a")), "latch") == "task, process (now) · 3 held"
    assert text(row_of(table, task_key("b")), "latch") == "model · quiesced"
    assert text(row_of(table, task_key("c")), "latch") == "drain"
    assert text(row_of(table, task_key("a")), "sign") == "‖"


def test_no_tick_and_no_final_score_before_the_log_is_read() -> None:
    fleet = fleet_after(process_gone(), fleet=fleet_of_tasks(task_row(done=100)))
    [row] = tasks_table(fleet, NOW).rows
    assert text(row, "sign") == "◇"
    assert text(row, "score") == ""
    [row] = tasks_table(fleet_after(log_read("success"), fleet=fleet), NOW).rows
    assert (text(row, "sign"), text(row, "score")) == ("✓", ".42 ±.05")


def test_the_log_shows_what_a_gone_process_did_last() -> None:
    fleet = fleet_after(
        process_gone(),
        log_read("success", samples=logged(total=100, completed=100, scored=100)),
        fleet=fleet_of_tasks(task_row(done=98)),
    )
    [row] = tasks_table(fleet, NOW).rows
    assert (text(row, "done"), text(row, "progress")) == ("100/100", "[1.00]")
    assert text(row, "score") == ".42 ±.05"


def test_numbers_of_the_last_look_are_marked_until_the_log_is_read() -> None:
    ended = fleet_after(process_gone(), fleet=fleet_of_tasks(task_row(done=9, errored=3, total=12)))
    [row] = tasks_table(ended, NOW).rows
    assert (text(row, "done"), text(row, "err")) == ("~9/12", "3")
    assert "9 of 12 at the last poll" in page_text(task_page(ended, task_key(), NOW))
    samples = logged(total=12, completed=7, errored=5, scored=7)
    read = fleet_after(log_read("success", score=0.81, samples=samples), fleet=ended)
    [row] = tasks_table(read, NOW).rows
    assert (text(row, "done"), text(row, "err"), text(row, "score")) == ("7/12", "5", ".81 7/12")
    page = page_text(task_page(read, task_key(), NOW))
    assert "7 of 12" in page
    assert "last poll" not in page
    assert "accuracy: .81 ±.05 over 7 of 12" in page


def test_samples_that_a_drain_abandoned_are_not_errored() -> None:
    fleet = fleet_after(
        process_gone(),
        log_read("success", samples=logged(total=30, completed=8, abandoned=22, scored=8)),
        fleet=fleet_of_tasks(task_row(done=8, total=30)),
    )
    [row] = tasks_table(fleet, NOW).rows
    assert (text(row, "done"), text(row, "err")) == ("8/30", "0")
    assert samples_table(fleet, task_key(), NOW).footer == "8 done · 22 abandoned"


def test_samples_that_a_killed_eval_did_not_write_are_not_in_the_log() -> None:
    fleet = judged_after(
        process_gone(),
        log_read("started", samples=logged(total=30, completed=8, abandoned=22, scored=8)),
        fleet=fleet_of_tasks(task_row(done=8, total=30)),
    )
    assert samples_table(fleet, task_key(), NOW).footer == "8 done · 22 not in the log"
    [lost] = [each for each in fleet.findings if each.kind == "lost"]
    assert "8 of 30 samples done, 22 not in the log" in lost.text


def test_a_page_says_why_samples_failed() -> None:
    groups = (ErrorGroup("ValueError: item N", 4, ("q/1", 2)), ErrorGroup("OSError\x1b", 1, (3, 1)))
    fleet = fleet_after(
        process_gone(),
        log_read("error", samples=logged(total=5, errored=5, errors=groups), cause="Boom: no"),
        fleet=fleet_of_tasks(task_row(total=5)),
    )
    page = page_text(task_page(fleet, task_key(), NOW))
    assert "the log: Boom: no" in page
    assert "4 x ValueError: item N (such as sample q/1, epoch 2)" in page
    assert "1 x OSError␛ (such as sample 3)" in page


def test_a_task_behind_a_lost_link_is_unknown_and_ages() -> None:
    fleet = fleet_after(link(LinkState.DOWN, at=NOW + 5), fleet=fleet_of_tasks(task_row(done=5)))
    [row] = tasks_table(fleet, NOW + 125).rows
    assert (text(row, "sign"), text(row, "age"), row.tone) == ("?", "2m", "dim")
    assert tone(row, "age") == "warning"
    assert text(row, "done") == "5/100"


def test_a_task_of_a_process_that_does_not_answer_is_an_error() -> None:
    fleet = fleet_after(process_seen(state=ProcessState.STARVED), fleet=fleet_of_tasks(task_row()))
    [row] = tasks_table(fleet, NOW).rows
    assert (text(row, "sign"), tone(row, "sign")) == ("▲", "error")


def test_an_empty_table_says_why() -> None:
    assert tasks_table(Fleet(), NOW).empty == "no machine has answered yet"
    assert "started a task yet" in tasks_table(fleet_after(process_seen()), NOW).empty


def test_tokens_per_minute_come_from_two_polls() -> None:
    fleet = fleet_of_tasks(task_row(total_tokens=0))
    fleet = fleet_after(tasks_seen(task_row(total_tokens=6_000), at=NOW + 60), fleet=fleet)
    [row] = tasks_table(fleet, NOW + 60).rows
    assert text(row, "tok/min") == "6.0k"
    assert "6.0k tok/min" in [cell_text(group) for group in header_totals(fleet, NOW)]


def test_an_ended_task_says_that_its_process_is_parked() -> None:
    def ended(*, keep_alive: bool) -> Fleet:
        row = task_row(status="completed", keep_alive=keep_alive)
        return fleet_after(log_read(), fleet=fleet_of_tasks(row))

    for keep_alive, cell in ((True, "(parked)"), (False, "")):
        fleet = ended(keep_alive=keep_alive)
        [row] = tasks_table(fleet, NOW).rows
        assert (text(row, "sign"), text(row, "latch")) == ("✓", cell)
        is_said = "process: parked: it is kept alive" in page_text(
            task_page(fleet, task_key(), NOW)
        )
        assert is_said == keep_alive


def test_trouble_comes_before_the_orders_in_the_header() -> None:
    fleet = judged_after(link(LinkState.DOWN), fleet=fleet_of_tasks(task_row()))
    groups = header_totals(fleet, NOW, (span_of("orders 3 done"),))
    words = [cell_text(group) for group in groups]
    assert words[:3] == ["1 machine 1 down", "1 alarm", "orders 3 done"]
