from typing import Any

import pytest

from core.events import LogUnreadable, OrderGiven, ProbeAnswered, ReadFailed
from core.fleet import Fleet
from core.ids import MachineName, SampleKey
from core.model.action import Action, Verb
from core.model.log_summary import ErrorGroup, LogBuffer
from core.model.machine import LinkState, ProbeFound, ToolState
from core.model.order import OrderState
from core.model.process import ProcessState
from core.model.sample import Activity, ToolCall
from core.views.cells import Bar, Row, Table
from core.views.header.totals import header_totals, title
from core.views.pages.machine_page import machine_page
from core.views.pages.page import Page
from core.views.pages.process_page import process_page
from core.views.pages.sample_page import sample_page
from core.views.pages.task_page import task_page
from core.views.tables.findings import findings_table
from core.views.tables.machines import link_words, machines_table
from core.views.tables.processes import processes_table
from core.views.tables.row_context import task_line, task_lines
from core.views.tables.samples import samples_table
from core.views.tables.tasks import state_word, tasks_table
from tests.support.fleets import (
    H1,
    H2,
    NOW,
    facts,
    fleet_after,
    judged_after,
    link,
    log_read,
    logged,
    named,
    process_gone,
    process_key,
    process_seen,
    running_fleet,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.fleets import judged_after as judged
from tests.support.orders import order


def text(row: Row[Any], column: str) -> str:
    return _text(row.cells[column])


def _text(cell: Any) -> str:
    return "".join(f"[{part.done:.2f}]" if isinstance(part, Bar) else part.text for part in cell)


def tone(row: Row[Any], column: str) -> str:
    return str(row.cells[column][0].tone)


def row_of(table: Table[Any], key: Any) -> Row[Any]:
    [row] = [row for row in table.rows if row.key == key]
    return row


def page_text(page: Page) -> str:
    return "\n".join(
        f"{fact.label}: {_text(fact.value)}" for each in page.sections for fact in each.facts
    )


def _tasks(*rows: Any, **more: Any) -> Fleet:
    return fleet_after(named(), link(), process_seen(**more), tasks_seen(*rows))


# Tasks


def test_a_task_line_holds_what_is_known_of_it() -> None:
    fleet = _tasks(task_row(done=59, errored=2, flying=38, queued=1, attempts=2))
    [row] = tasks_table(fleet, NOW + 3).rows
    assert {name: text(row, name) for name in row.cells} == {
        "sign": "▶",
        "machine": "h100-1",
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
    [line] = tasks_table(_tasks(row), NOW).rows
    for name in ("fly", "queued", "tokens", "http", "refused", "progress", "done", "score"):
        assert line.cells[name] == (), name
        assert line.sort[name][0] == 2 or name == "done"


def test_trouble_comes_first_and_what_is_done_last() -> None:
    fleet = _tasks(
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


def test_tasks_that_stand_equally_keep_their_order_while_they_go_on() -> None:
    fleet = _tasks(task_row("b", done=1), task_row("a", done=90))
    before = [row.key for row in tasks_table(fleet, NOW).rows]
    fleet = fleet_after(tasks_seen(task_row("b", done=50), task_row("a", done=99)), fleet=fleet)
    assert [row.key for row in tasks_table(fleet, NOW).rows] == before


def test_a_latch_says_who_holds_it_how_hard_and_how_many() -> None:
    fleet = _tasks(
        task_row("a", paused=("task", "process"), paused_now=("process",), held=3),
        task_row("b", paused=("model",), quiesced=True),
        task_row("c", resolving="drain"),
    )
    table = tasks_table(fleet, NOW)
    assert text(row_of(table, task_key("a")), "latch") == "task, process (hard) 3 held"
    assert text(row_of(table, task_key("b")), "latch") == "model quiesced"
    assert text(row_of(table, task_key("c")), "latch") == "drain"
    assert text(row_of(table, task_key("a")), "sign") == "‖"


def test_no_tick_and_no_final_score_before_the_log_said_so() -> None:
    fleet = fleet_after(process_gone(), fleet=_tasks(task_row(done=100)))
    [row] = tasks_table(fleet, NOW).rows
    assert text(row, "sign") == "◇"
    assert text(row, "score") == ""
    [row] = tasks_table(fleet_after(log_read("success"), fleet=fleet), NOW).rows
    assert (text(row, "sign"), text(row, "score")) == ("✓", ".42 ±.05")


def test_the_log_shows_what_a_gone_process_did_last() -> None:
    fleet = fleet_after(
        process_gone(),
        log_read("success", samples=logged(total=100, completed=100, scored=100)),
        fleet=_tasks(task_row(done=98)),
    )
    [row] = tasks_table(fleet, NOW).rows
    assert (text(row, "done"), text(row, "progress")) == ("100/100", "[1.00]")
    assert text(row, "score") == ".42 ±.05"


def test_numbers_of_the_last_look_are_marked_until_the_log_is_read() -> None:
    ended = fleet_after(process_gone(), fleet=_tasks(task_row(done=9, errored=3, total=12)))
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


def test_samples_that_a_killed_eval_did_not_write_are_not_in_the_log() -> None:
    fleet = judged_after(
        process_gone(),
        log_read("started", samples=logged(total=30, completed=8, abandoned=22, scored=8)),
        fleet=running_fleet(),
    )
    assert samples_table(fleet, task_key(), NOW).footer == "8 done · 22 not in the log"
    assert "8 of 30 samples done, 22 not in the log" in fleet.findings[0].text


def test_samples_that_a_drain_abandoned_are_not_errored() -> None:
    fleet = fleet_after(
        process_gone(),
        log_read("success", samples=logged(total=30, completed=8, abandoned=22, scored=8)),
        fleet=_tasks(task_row(done=8, total=30)),
    )
    [row] = tasks_table(fleet, NOW).rows
    assert (text(row, "done"), text(row, "err")) == ("8/30", "0")
    assert samples_table(fleet, task_key(), NOW).footer == "8 done · 22 abandoned"


def test_a_page_says_why_samples_failed() -> None:
    groups = (ErrorGroup("ValueError: item N", 4, ("q/1", 2)), ErrorGroup("OSError\x1b", 1, (3, 1)))
    fleet = fleet_after(
        process_gone(),
        log_read("error", samples=logged(total=5, errored=5, errors=groups), cause="Boom: no"),
        fleet=_tasks(task_row(total=5)),
    )
    page = page_text(task_page(fleet, task_key(), NOW))
    assert "the log: Boom: no" in page
    assert "4 x ValueError: item N (such as sample q/1, epoch 2)" in page
    assert "1 x OSError␛ (such as sample 3)" in page


def test_a_task_behind_a_lost_link_is_unknown_and_ages() -> None:
    fleet = fleet_after(link(LinkState.DOWN, at=NOW + 5), fleet=_tasks(task_row(done=5)))
    [row] = tasks_table(fleet, NOW + 125).rows
    assert (text(row, "sign"), text(row, "age"), row.tone) == ("?", "2m", "dim")
    assert tone(row, "age") == "look"
    assert text(row, "done") == "5/100"


def test_a_task_of_a_process_that_does_not_answer_wants_a_hand() -> None:
    fleet = fleet_after(process_seen(state=ProcessState.STARVED), fleet=_tasks(task_row()))
    [row] = tasks_table(fleet, NOW).rows
    assert (text(row, "sign"), tone(row, "sign")) == ("▲", "hand")


def test_an_empty_table_says_why() -> None:
    assert tasks_table(Fleet(), NOW).empty == "no machine has answered yet"
    assert "started a task yet" in tasks_table(fleet_after(process_seen()), NOW).empty


def test_tokens_a_minute_come_of_what_was_seen() -> None:
    fleet = _tasks(task_row(total_tokens=0))
    fleet = fleet_after(tasks_seen(task_row(total_tokens=6_000), at=NOW + 60), fleet=fleet)
    [row] = tasks_table(fleet, NOW + 60).rows
    assert text(row, "tok/min") == "6.0k"
    assert "6.0k tok/min" in [_text(group) for group in header_totals(fleet, NOW)]


# Samples


def test_an_activity_lasts_on_the_evals_own_clock() -> None:
    tool = Activity(
        type="tool",
        started_at=5_000.0,
        calls=(ToolCall(id="1", function="bash", started_at=5_000.0),),
    )
    fleet = fleet_after(
        samples_seen(sample(17, activity=tool), as_of=5_200.0), fleet=_tasks(task_row())
    )
    [row] = samples_table(fleet, task_key(), NOW + 52).rows
    assert text(row, "doing") == "bash 4:12"


def test_durations_stand_still_while_the_link_is_down() -> None:
    fleet = fleet_after(samples_seen(sample(1)), link(LinkState.DOWN), fleet=_tasks(task_row()))
    [row] = samples_table(fleet, task_key(), NOW + 500).rows
    assert (text(row, "doing"), row.tone) == ("generating 0:10", "dim")


def test_durations_stand_still_from_the_end_of_the_process_on() -> None:
    fleet = fleet_after(
        samples_seen(sample(1), sample(2, status="completed")),
        process_gone(at=NOW + 20),
        fleet=_tasks(task_row()),
    )
    for now in (NOW + 20, NOW + 5_000):
        row = samples_table(fleet, task_key(), now).rows[0]
        assert (text(row, "doing"), text(row, "status")) == ("generating 0:30", "was running")
        told = page_text(sample_page(fleet, row.key, now))
        assert "status: was running\nactivity: generating 0:30\n" in told
        assert f"last active: {text(row, 'last')} ago" in told


def test_a_page_of_a_sample_says_of_which_task_and_machine() -> None:
    fleet = fleet_after(samples_seen(sample(1)), fleet=_tasks(task_row()))
    title = sample_page(fleet, SampleKey(task_key(), 1, 1), NOW).title
    assert title == "Sample 1 epoch 1 of gdm_intercode_ctf on h100-1"


@pytest.mark.parametrize("state", [LinkState.DOWN, LinkState.NEEDS_YOU, LinkState.REFUSED])
def test_samples_of_a_machine_that_is_down_are_marked_and_their_clocks_stand(
    state: LinkState,
) -> None:
    rows = (sample(1), sample(2, status="error"), sample(3, status="completed"))
    fleet = fleet_after(
        samples_seen(*rows), link(state, at=NOW + 5), fleet=_tasks(task_row(flying=1, total=3))
    )
    table, later = (samples_table(fleet, task_key(), NOW + wait) for wait in (10, 500))
    words = {row.key.sample_id: text(row, "status") for row in table.rows}
    assert words == {1: "was running", 2: "error", 3: "done"}
    assert tone(table.rows[0], "status") == "dim"
    assert "read 10s ago" in table.footer
    assert "read 8m ago" in later.footer
    for column in ("doing", "time"):
        assert [text(row, column) for row in table.rows] == [
            text(row, column) for row in later.rows
        ]


def test_the_clocks_of_samples_stand_a_minute_after_the_last_read() -> None:
    fleet = fleet_after(samples_seen(sample(1)), fleet=_tasks(task_row()))
    fresh, minute, old = (samples_table(fleet, task_key(), NOW + wait) for wait in (5, 60, 2000))
    assert "ago" not in fresh.footer
    assert [text(table.rows[0], "doing") for table in (fresh, minute, old)] == [
        "generating 0:15", "generating 1:10", "generating 1:10",
    ]  # fmt: skip
    assert "read 33m ago" in old.footer
    assert text(old.rows[0], "status") == "running"


def test_a_sample_that_waits_to_retry_says_when_and_comes_first() -> None:
    waits = Activity(type="retry_wait", count=6, started_at=NOW - 20, deadline=NOW + 45)
    fleet = fleet_after(
        samples_seen(sample(1), sample(44, activity=waits), sample(5, status="error")),
        fleet=_tasks(task_row()),
    )
    table = samples_table(fleet, task_key(), NOW)
    assert [row.key.sample_id for row in table.rows] == [44, 1, 5]
    assert text(table.rows[0], "doing") == "retry 6 in 0:45"
    assert text(table.rows[0], "status") == "retrying"
    assert table.footer == "2 running · 1 error"


def test_scores_limits_and_interrupts_of_samples() -> None:
    fleet = fleet_after(
        samples_seen(
            sample(1, status="completed", scores={"includes": "C"}),
            sample(2, status="completed", scores={"a": 0.5, "b": {"x": 1}}),
            sample(3, status="completed", limit="operator"),
            sample(4, token_limit_usage=48_000.0, token_limit_total=50_000.0),
            sample(5, interrupt="score"),
            sample(6, interrupt="cancel"),
        ),
        fleet=_tasks(task_row()),
    )
    table = samples_table(fleet, task_key(), NOW)
    rows = {row.key.sample_id: row for row in table.rows}
    assert (text(rows[1], "score"), tone(rows[1], "score")) == ("C", "good")
    assert text(rows[2], "score") == "a .50 · b {…}"
    assert text(rows[3], "limit") == "hit operator"
    assert (text(rows[4], "limit"), tone(rows[4], "limit")) == ("tokens 48k/50k", "look")
    assert text(rows[5], "status") == "stopping: score"
    assert text(rows[6], "status") == "cancelling"


@pytest.mark.parametrize(
    ("state", "attempt", "word"),
    [
        (OrderState.INTENT, "own", "cancelling"),
        (OrderState.DONE, "own", "cancelling"),
        (OrderState.UNKNOWN, "own", "cancelling"),
        (OrderState.REFUSED, "own", "running"),
        (OrderState.DONE, "an earlier one", "running"),
    ],
)
def test_a_task_that_is_being_cancelled_says_so(state: OrderState, attempt: str, word: str) -> None:
    fleet = _tasks(task_row())
    row = fleet.tasks[task_key()].row
    given = order(
        "o1", target=task_key(), action=Action(verb=Verb.CANCEL), state=state,
        basis={"eval id": row.eval_id if attempt == "own" else attempt},
    )  # fmt: skip
    fleet = fleet_after(OrderGiven(at=NOW, order=given), fleet=fleet)
    for line in (task_line(fleet, task_key(), NOW), *task_lines(fleet, NOW)):
        assert line is not None
        assert state_word(line).text == word
    [shown] = tasks_table(fleet, NOW).rows
    assert text(shown, "latch") == ("cancelling" if word == "cancelling" else "")


def test_an_empty_samples_table_says_why() -> None:
    assert samples_table(_tasks(task_row()), None, NOW).empty == "no task is selected"
    unread = samples_table(_tasks(task_row()), task_key(), NOW)
    assert unread.empty == "the samples have not been read yet"


# Machines, processes, findings


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


def test_a_process_line_is_short_and_tells_what_it_runs() -> None:
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


def test_open_findings_come_first_and_what_wants_a_hand_before_the_rest() -> None:
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
    groups = [_text(group) for group in header_totals(fleet, NOW)]
    assert groups == [
        "2 machines 1 connecting",
        "2 tasks 1 paused 1 running",
        "41 in flight",
    ]
    assert title(fleet) == "evalroom: 2 running"
    lost = judged(link(LinkState.DOWN, machine=H2), fleet=fleet)
    assert title(lost) == "evalroom: 1 down, 1 finding"


def test_an_unknown_number_is_not_called_nothing() -> None:
    fleet = judged(named(), link(), process_seen(), tasks_seen(task_row(flying=38)))
    down = judged(link(LinkState.DOWN), fleet=fleet)
    assert _text(header_totals(down, NOW)[-1]) == "unknown in flight"
    assert _text(header_totals(judged(named()), NOW)[-1]) == "unknown in flight"
    old = judged(named(), link(), process_seen(), tasks_seen(task_row(flying=None)))
    assert "unknown in flight" in [_text(group) for group in header_totals(old, NOW)]


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
    said = page_text(task_page(fleet, task_key(), NOW))
    assert "7 finished samples and 2 that were running" in said
    command = "/v/bin/python3 -m inspect_ai log recover /logs/t1.eval"
    assert f"XDG_DATA_HOME='/data/a b' {command}" in said
    [lost] = [each for each in fleet.findings if each.kind == "lost"]
    assert "its buffer holds 7 finished samples" in lost.text
    assert "recover" not in page_text(
        task_page(judged(log_read("started"), fleet=fleet), task_key(), NOW)
    )


def test_a_link_that_is_tried_now_says_so() -> None:
    fleet = judged(named(), link(), link(LinkState.DOWN, at=NOW + 10, retry_at=NOW + 18))
    machine = fleet.machines[H1]
    assert _text(link_words(machine, NOW + 14)) == "down 4s retry 4s"
    assert _text(link_words(machine, NOW + 18)) == "down 8s trying now"


def test_a_process_is_parked_since_its_evals_were_over_on_whatever_clock() -> None:
    over = task_row(status="completed", completed_at=NOW - 7_200, keep_alive=True)
    fleet = judged(named(), link(), process_seen(started_at=NOW - 9_000), tasks_seen(over))
    [row] = processes_table(fleet, NOW).rows
    assert "parked 2h" in text(row, "state")


def test_a_process_that_starts_counts_from_its_own_start() -> None:
    starting = process_seen(state=ProcessState.STARTING, started_at=NOW - 300)
    [row] = processes_table(judged(named(), link(), starting), NOW).rows
    assert "starting 5m" in text(row, "state")


# Pages


def test_clocks_that_agree_are_reported_as_the_same() -> None:
    for offset, said in (
        (-0.001, "same as this computer's"),
        (-2.5, "2.5 s behind this computer's"),
        (2.5, "2.5 s ahead of this computer's"),
    ):
        probe = ProbeFound(
            python="3.11", host="h", platform="L", user="u", pid=1, read_only=False,
            clock_offset=offset,
        )  # fmt: skip
        fleet = fleet_after(named(), ProbeAnswered(at=NOW, machine=H1, probe=probe))
        assert f"clock: {said}" in page_text(machine_page(fleet, H1, NOW))


def test_a_machine_page_says_who_holds_which_gpu() -> None:
    told = page_text(machine_page(running_fleet(), H1, NOW))
    assert "0: [0.90] 90%  40G/80G  61°C  400/700 W  NVIDIA H100 80GB HBM3" in told
    assert ": pid 100 39G  gdm_intercode_ctf" in told
    assert "memory: [0.41] 300G free of 512G" in told
    warned = fleet_after(facts(gpu_error="nvidia-smi warns (exit 14)"), fleet=running_fleet())
    told = page_text(machine_page(warned, H1, NOW))
    assert "warning: nvidia-smi warns (exit 14)" in told
    assert "0: [0.90] 90%" in told
    gone = page_text(machine_page(running_fleet(), MachineName("x"), NOW))
    assert "not in the config" in gone


def test_process_task_and_sample_pages_tell_what_is_known() -> None:
    fleet = fleet_after(
        LogUnreadable(at=NOW, task=task_key(), reason="no such file"), fleet=running_fleet()
    )
    assert "gdm_intercode_ctf: running  [0.67] 1/3" in page_text(
        process_page(fleet, process_key(), NOW)
    )
    told = page_text(task_page(fleet, task_key(), NOW))
    assert "error: [0.33] 1" in told
    assert "log error: no such file" in told
    key = SampleKey(task_key(), 1, 1)
    assert "activity: generating 0:10" in page_text(sample_page(fleet, key, NOW))
    assert "does not contain this sample" in page_text(
        sample_page(fleet, SampleKey(task_key(), "1", 1), NOW)
    )


def test_a_finished_task_page_gives_every_score() -> None:
    fleet = fleet_after(process_gone(), log_read("success"), fleet=running_fleet())
    told = page_text(task_page(fleet, task_key(), NOW))
    assert "log says: success" in told
    assert "includes accuracy: .42 ±.05" in told


def test_pages_of_what_is_gone_say_so() -> None:
    assert "no longer known" in page_text(task_page(Fleet(), task_key(), NOW))
    assert "no longer known" in page_text(process_page(Fleet(), process_key(), NOW))
