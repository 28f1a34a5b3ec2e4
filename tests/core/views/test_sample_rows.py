"""What a row of a sample says."""

from dataclasses import replace

import pytest

from core.events import OperationsSeen, OrderGiven
from core.ids import SampleKey
from core.model.action import Action, Verb
from core.model.machine import LinkState
from core.model.operation import Operation
from core.model.order import OrderState
from core.model.sample import Activity, ToolCall
from core.views.pages.sample_page import sample_page
from core.views.tables.row_context import task_line, task_lines
from core.views.tables.samples import samples_table
from core.views.tables.tasks import state_word, tasks_table
from tests.support.fleets import (
    NOW,
    fleet_after,
    fleet_of_tasks,
    link,
    process_gone,
    process_key,
    sample,
    samples_seen,
    task_key,
    task_row,
)
from tests.support.orders import order
from tests.support.table_rows import page_text, text, tone


def test_an_activity_lasts_on_the_evals_own_clock() -> None:
    tool = Activity(
        type="tool",
        started_at=5_000.0,
        calls=(ToolCall(id="1", function="bash", started_at=5_000.0),),
    )
    fleet = fleet_after(
        samples_seen(sample(17, activity=tool), as_of=5_200.0), fleet=fleet_of_tasks(task_row())
    )
    [row] = samples_table(fleet, task_key(), NOW + 52).rows
    assert text(row, "doing") == "bash 4:12"


def test_a_sample_without_an_activity_does_what_its_trace_says() -> None:
    silent = sample(17, activity=None, started_at=NOW - 800)
    hangs = Operation(
        action="Subprocess", what="docker exec", words="sleep \x1b[31m1000", since=NOW - 750,
        task="gdm_intercode_ctf", sample=(17, 1), count=2,
    )  # fmt: skip
    fleet = fleet_after(
        samples_seen(silent, sample(18)),
        OperationsSeen(
            at=NOW,
            process=process_key(),
            operations=(hangs, replace(hangs, sample=(18, 1))),
        ),
        fleet=fleet_of_tasks(task_row()),
    )
    rows = {row.key.sample_id: row for row in samples_table(fleet, task_key(), NOW).rows}
    told = text(rows[17], "doing")
    assert told.startswith("docker exec sleep ")
    assert told.endswith("1000 \u00d72 12:30")
    assert "\x1b" not in told
    assert text(rows[18], "doing") == "generating 0:10"
    assert "activity: docker exec sleep" in page_text(sample_page(fleet, rows[17].key, NOW))
    ended = fleet_after(process_gone(), fleet=fleet)
    assert text(samples_table(ended, task_key(), NOW).rows[0], "doing") == ""


def test_durations_stop_while_the_link_is_down() -> None:
    fleet = fleet_after(
        samples_seen(sample(1)), link(LinkState.DOWN), fleet=fleet_of_tasks(task_row())
    )
    [row] = samples_table(fleet, task_key(), NOW + 500).rows
    assert (text(row, "doing"), row.tone) == ("generating 0:10", "dim")


def test_durations_stop_at_the_end_of_the_process() -> None:
    fleet = fleet_after(
        samples_seen(sample(1), sample(2, status="completed")),
        process_gone(at=NOW + 20),
        fleet=fleet_of_tasks(task_row()),
    )
    for now in (NOW + 20, NOW + 5_000):
        row = samples_table(fleet, task_key(), now).rows[0]
        assert (text(row, "doing"), text(row, "status")) == ("generating 0:30", "was running")
        found = page_text(sample_page(fleet, row.key, now))
        assert "status: was running\nactivity: generating 0:30\n" in found
        assert f"last active: {text(row, 'last')} ago" in found


def test_a_page_of_a_sample_says_of_which_task_and_machine() -> None:
    fleet = fleet_after(samples_seen(sample(1)), fleet=fleet_of_tasks(task_row()))
    title = sample_page(fleet, SampleKey(task_key(), 1, 1), NOW).title
    assert title == "Sample 1 epoch 1 of gdm_intercode_ctf on h100-1"


@pytest.mark.parametrize("state", [LinkState.DOWN, LinkState.NEEDS_YOU, LinkState.REFUSED])
def test_samples_of_a_machine_that_is_down_are_marked_and_their_clocks_stand(
    state: LinkState,
) -> None:
    rows = (sample(1), sample(2, status="error"), sample(3, status="completed"))
    fleet = fleet_after(
        samples_seen(*rows),
        link(state, at=NOW + 5),
        fleet=fleet_of_tasks(task_row(flying=1, total=3)),
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


def test_the_clocks_of_samples_stop_a_minute_after_the_last_read() -> None:
    fleet = fleet_after(samples_seen(sample(1)), fleet=fleet_of_tasks(task_row()))
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
        fleet=fleet_of_tasks(task_row()),
    )
    table = samples_table(fleet, task_key(), NOW)
    assert [row.key.sample_id for row in table.rows] == [44, 1, 5]
    assert text(table.rows[0], "doing") == "retry 6 in 0:45"
    assert text(table.rows[0], "status") == "retrying"
    assert table.footer == "2 running · 1 errored"


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
        fleet=fleet_of_tasks(task_row()),
    )
    table = samples_table(fleet, task_key(), NOW)
    rows = {row.key.sample_id: row for row in table.rows}
    assert (text(rows[1], "score"), tone(rows[1], "score")) == ("C", "good")
    assert text(rows[2], "score") == "a .50 · b {…}"
    assert text(rows[3], "limit") == "hit operator"
    assert (text(rows[4], "limit"), tone(rows[4], "limit")) == ("tokens 48k/50k", "warning")
    assert text(rows[5], "status") == "stopping: score"
    assert text(rows[6], "status") == "cancelling"


@pytest.mark.parametrize(
    ("state", "attempt", "word"),
    [
        (OrderState.SENDING, "own", "cancelling"),
        (OrderState.DONE, "own", "cancelling"),
        (OrderState.UNKNOWN, "own", "cancelling"),
        (OrderState.REFUSED, "own", "running"),
        (OrderState.DONE, "an earlier one", "running"),
    ],
)
def test_a_task_that_is_being_cancelled_says_so(state: OrderState, attempt: str, word: str) -> None:
    fleet = fleet_of_tasks(task_row())
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
    assert samples_table(fleet_of_tasks(task_row()), None, NOW).empty == "no task is selected"
    unread = samples_table(fleet_of_tasks(task_row()), task_key(), NOW)
    assert unread.empty == "the samples have not been read yet"
