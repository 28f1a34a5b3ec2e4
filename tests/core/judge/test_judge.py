from dataclasses import replace

from core.events import Dismissed, LogUnreadable, RunChanged, TimePassed
from core.finding_events import FindingsAcknowledged
from core.fleet import Fleet
from core.judge.finding_list import MAX_FINDINGS, with_findings
from core.model.finding import Finding
from core.model.machine import LinkState
from core.model.process import ProcessState
from core.model.run import RunState
from tests.support.fleets import (
    H1,
    NOW,
    link,
    log_read,
    named,
    process_gone,
    process_key,
    process_seen,
    sample,
    samples_seen,
    task_key,
    task_row,
    tasks_seen,
)
from tests.support.fleets import judged_after as judged
from tests.support.runs import run as made_run


def _kinds(fleet: Fleet) -> list[str]:
    return [finding.kind for finding in fleet.findings]


UP = judged(named(), link(at=NOW))
RUNNING = judged(process_seen(started_at=NOW - 9_000), tasks_seen(task_row(done=10)), fleet=UP)


def test_a_first_connection_is_not_a_finding() -> None:
    assert UP.findings == ()


def test_a_lost_link_opens_a_finding_that_closes_when_it_is_back() -> None:
    fleet = judged(link(LinkState.DOWN, at=NOW + 100, reason="no route to host"), fleet=UP)
    [lost] = fleet.findings
    assert (lost.kind, lost.severity, lost.closed_at) == ("link", "alarm", None)
    assert "no route to host" in lost.text
    fleet = judged(link(LinkState.CONNECTING, at=NOW + 110), link(at=NOW + 145), fleet=fleet)
    [back] = fleet.findings
    assert back.id == lost.id
    assert back.closed_at == NOW + 145
    assert "45s" in back.text


def test_each_outage_has_its_own_length_and_a_flapping_link_counts_them() -> None:
    down, up = LinkState.DOWN, LinkState.UP
    fleet = judged(link(down, at=NOW + 100), link(up, at=NOW + 155), fleet=UP)
    assert fleet.findings[0].text == "The link is up again after 55s"
    fleet = judged(link(down, at=NOW + 700, reason="no route"), fleet=fleet)
    [lost] = fleet.findings
    assert lost.text == "The link is down: no route (2 outages in 10m 00s, longest 55s)"
    fleet = judged(link(up, at=NOW + 709), fleet=fleet)  # nine seconds, and it closes at once
    [back] = fleet.findings
    assert back.closed_at == NOW + 709
    assert back.text == "The link is up again after 9s (2 outages in 10m 09s, longest 55s)"
    fleet = judged(link(down, at=NOW + 5_000), fleet=fleet)
    assert [each.count for each in fleet.findings] == [1, 2]


def test_the_wait_for_the_first_connection_is_not_an_outage() -> None:
    fleet = judged(
        named(),
        link(LinkState.CONNECTING, at=NOW),
        link(LinkState.NEEDS_TRUST, at=NOW + 1, reason="the host key is unknown"),
    )
    [waits] = fleet.findings
    assert waits.text == "The link needs trust: the host key is unknown"
    fleet = judged(link(LinkState.CONNECTING, at=NOW + 66), link(at=NOW + 67), fleet=fleet)
    [back] = fleet.findings
    assert (back.closed_at, back.text) == (NOW + 67, "The link is up")
    fleet = judged(link(LinkState.DOWN, at=NOW + 100), link(at=NOW + 109), fleet=fleet)
    assert [each.text for each in fleet.findings] == [
        "The link is up again after 9s",
        "The link is up",
    ]


def test_a_link_that_is_down_shows_the_newest_reason() -> None:
    fleet = judged(
        link(LinkState.DOWN, at=NOW + 100, reason="no route to host"),
        link(LinkState.CONNECTING, at=NOW + 101, reason="no route to host"),
        link(LinkState.DOWN, at=NOW + 102, reason="connection refused"),
        fleet=UP,
    )
    [lost] = fleet.findings
    assert lost.text == "The link is down: connection refused"
    again = judged(
        link(LinkState.DOWN, at=NOW + 110, reason="connection refused"),
        TimePassed(at=NOW + 200),
        fleet=fleet,
    )
    assert again.findings == fleet.findings  # a try that fails alike is not news


def test_a_link_that_comes_to_need_the_operator_says_so_at_once() -> None:
    fleet = judged(
        link(LinkState.DOWN, at=NOW + 100),
        link(LinkState.NEEDS_YOU, at=NOW + 102, reason="permission denied"),
        fleet=UP,
    )
    assert "needs you: permission denied" in fleet.findings[0].text


def test_a_process_that_was_there_before_us_is_not_news_but_a_new_one_is() -> None:
    assert _kinds(RUNNING) == []
    fleet = judged(process_seen(pid=200, at=NOW + 50, started_at=NOW + 48), fleet=RUNNING)
    [came] = fleet.findings
    assert "Process 200 has started" in came.text
    assert came.closed_at == came.opened_at


def test_a_process_that_went_with_running_tasks_says_with_how_many() -> None:
    fleet = judged(process_gone(at=NOW + 60), fleet=RUNNING)
    [went] = fleet.findings
    assert went.text == "Process 100 has ended after 2h 31m; 1 task was running at the last poll"


def test_a_process_that_ended_while_nobody_looked_says_within_which_time() -> None:
    fleet = judged(process_gone(at=NOW + 400, last_seen_at=0.0), fleet=RUNNING)
    [went] = fleet.findings
    assert went.text == (
        "Process 100 has ended within the last 6m 40s after at least 2h 30m; 1 task was running"
        " at the last poll"
    )


def test_a_process_that_ended_with_its_eval_shows_the_time() -> None:
    over = task_row(status="completed", completed_at=NOW - 1_000)
    fleet = judged(tasks_seen(over), process_gone(at=NOW + 400), fleet=RUNNING)
    assert fleet.processes[process_key()].ended_at == NOW - 1_000
    [went] = [each for each in fleet.findings if each.id.startswith("went:")]
    assert went.text == "Process 100 has ended after 2h 13m"


def test_a_headless_process_is_open_until_it_answers() -> None:
    fleet = judged(process_seen(state=ProcessState.HEADLESS, at=NOW + 5), fleet=RUNNING)
    assert (fleet.findings[0].kind, fleet.findings[0].severity) == ("headless", "alarm")
    fleet = judged(process_seen(at=NOW + 65), fleet=fleet)
    assert fleet.findings[0].closed_at == NOW + 65
    assert "live again; it was headless for 1m 00s" in fleet.findings[0].text


def test_a_process_that_ends_after_its_tasks_is_no_alarm() -> None:
    """Its control server ends some seconds before it does."""
    over = tasks_seen(task_row(status="completed", completed_at=NOW + 4), at=NOW + 4)
    fleet = judged(over, process_seen(state=ProcessState.HEADLESS, at=NOW + 5), fleet=RUNNING)
    [headless] = [each for each in fleet.findings if each.kind == "headless"]
    assert headless.severity == "notice"
    fleet = judged(process_gone(at=NOW + 9), fleet=fleet)
    [headless] = [each for each in fleet.findings if each.kind == "headless"]
    assert headless.closed_at == NOW + 9


def test_starved_that_turns_headless_is_one_closed_and_one_open() -> None:
    fleet = judged(
        process_seen(state=ProcessState.STARVED, at=NOW + 5, waiting_since=NOW - 20),
        process_seen(state=ProcessState.HEADLESS, at=NOW + 65),
        fleet=RUNNING,
    )
    headless, starved = fleet.findings
    assert (headless.kind, headless.closed_at) == ("headless", None)
    assert (starved.kind, starved.closed_at) == ("starved", NOW + 65)


def test_a_process_that_a_signal_stopped_is_not_called_blocked() -> None:
    stopped = process_seen(
        state=ProcessState.STARVED, at=NOW + 5, waiting_since=NOW - 20, is_stopped=True
    )
    [found] = judged(stopped, fleet=RUNNING).findings
    assert "a signal stopped it" in found.text
    assert found.text.endswith("To continue it, run: kill -CONT 100")
    assert "blocked" not in found.text


def test_a_finished_task_shows_its_status_and_score() -> None:
    fleet = judged(
        tasks_seen(task_row(status="completed", done=98, errored=2)),
        log_read("success", at=NOW + 1),
        fleet=RUNNING,
    )
    [end] = [each for each in fleet.findings if each.kind == "finished"]
    assert (end.severity, end.task, end.closed_at) == ("suspect", task_key(), NOW + 1)
    assert "Success: accuracy .42 ±.05, 98 of 100 samples" in end.text


def test_a_success_is_as_good_as_its_samples() -> None:
    def end(errored: int) -> Finding:
        row = task_row(status="completed", done=100 - errored, errored=errored)
        fleet = judged(tasks_seen(row), log_read("success", at=NOW + 1), fleet=RUNNING)
        [found] = [each for each in fleet.findings if each.kind == "finished"]
        return found

    assert [end(errored).severity for errored in (0, 9, 10, 100)] == [
        "notice",
        "suspect",
        "alarm",
        "alarm",
    ]
    assert [end(errored).waits for errored in (0, 9, 10, 100)] == [False, False, True, True]


def test_few_errors_of_many_samples_are_not_called_none() -> None:
    fleet = judged(tasks_seen(task_row(total=400, errored=1)), fleet=RUNNING)
    assert fleet.findings[0].text == "1 of 400 samples errored (under 1%)"


def test_a_process_that_ended_unread_while_its_link_was_down_names_its_folder() -> None:
    came = process_seen(pid=7, at=NOW + 50, started_at=NOW + 48, cwd="/home/op/evals")
    fleet = judged(
        came, link(LinkState.DOWN, at=NOW + 60), link(at=NOW + 120),
        process_gone(pid=7, at=NOW + 121, last_seen_at=NOW + 50), fleet=UP,
    )  # fmt: skip
    [went] = [each for each in fleet.findings if each.id.startswith("went:")]
    assert went.severity == "suspect"
    assert went.text == (
        "Process 7 has ended within the last 1m 11s after at least 2s. evalroom read none of its"
        " tasks, so look at its output and its log: it ran in /home/op/evals"
    )
    seen = judged(came, process_gone(pid=7, at=NOW + 170), fleet=UP)
    assert "has ended after 2m 02s. evalroom read none" in seen.findings[0].text


def test_a_score_of_hundreds_of_digits_fits_into_a_few_characters() -> None:
    fleet = judged(
        tasks_seen(task_row(status="completed", done=98, errored=2)),
        log_read("success", at=NOW + 1, score=1e308),
        fleet=RUNNING,
    )
    [end] = [each for each in fleet.findings if each.kind == "finished"]
    assert "Success: accuracy 1e308 ±.05, 98 of 100 samples" in end.text


def test_an_error_and_a_loss_stay_open_until_they_are_acknowledged() -> None:
    gone = judged(process_gone(), log_read("started"), fleet=RUNNING)
    failed = judged(log_read("error"), fleet=gone)  # the log says more than it did
    found = {each.id.rpartition(":")[2]: each for each in failed.findings if each.is_kept}
    assert found["lost"].closed_at is not None
    assert found["error"].waits
    day = judged(TimePassed(at=NOW + 90_000), fleet=failed)
    assert day.tasks == {}
    [waiting] = [each for each in day.findings if each.waits]
    seen = judged(FindingsAcknowledged(at=NOW + 90_001, findings=(waiting.id,)), fleet=day)
    assert not any(each.waits for each in seen.findings)
    [closed] = [each for each in seen.findings if each.id == waiting.id]
    assert (closed.acknowledged_at, closed.closed_at) == (NOW + 90_001, NOW + 90_001)
    again = judged(
        process_seen(started_at=NOW - 9_000), tasks_seen(task_row(status="error")),
        log_read("error"), fleet=seen,
    )  # fmt: skip
    assert not any(each.waits for each in again.findings), "acknowledged: it stays closed"


def test_a_run_that_failed_without_a_task_waits_for_the_operator() -> None:
    started = made_run(1, RunState.STARTING)
    fleet = judged(RunChanged(at=NOW, run=started), fleet=UP)
    assert fleet.findings == ()
    broken = replace(started, state=RunState.ERROR, message="no space left on device")
    fleet = judged(RunChanged(at=NOW + 1, run=broken), fleet=fleet)
    [finding] = fleet.findings
    assert finding.waits
    assert finding.text.endswith("ended in error: no space left on device")
    fine = replace(started, state=RunState.SUCCESS)
    fleet = judged(RunChanged(at=NOW + 2, run=fine), fleet=fleet)
    assert fleet.findings[0].closed_at == NOW + 2
    old = judged(RunChanged(at=NOW, run=broken), fleet=UP)
    assert old.findings == (), "the knowledge of the last room is not news"


def test_a_task_that_had_long_ended_when_we_came_is_news_only_if_it_went_wrong() -> None:
    old = task_row(status="completed", completed_at=NOW - 3_600)
    fleet = judged(process_seen(started_at=NOW - 9_000), tasks_seen(old), fleet=UP)
    assert _kinds(judged(log_read("error"), fleet=fleet)) == ["finished"]


def test_a_lost_task_says_why() -> None:
    fleet = judged(process_gone(), log_read("started"), fleet=RUNNING)
    [lost] = [each for each in fleet.findings if each.kind == "lost"]
    assert lost.severity == "alarm"
    assert "the status of its log is still started (10 of 100 samples" in lost.text


def test_errors_of_a_task_are_one_finding_that_worsens_and_closes_with_the_task() -> None:
    fleet = judged(tasks_seen(task_row(errored=1)), fleet=RUNNING)
    [errors] = fleet.findings
    assert (errors.severity, errors.count) == ("suspect", 1)
    fleet = judged(tasks_seen(task_row(errored=30)), fleet=fleet)
    [worse] = [each for each in fleet.findings if each.kind == "errors"]
    assert (worse.id, worse.severity, worse.count) == (errors.id, "alarm", 30)
    assert "30 of 100 samples errored (30%)" in worse.text
    fleet = judged(process_gone(), log_read("error"), fleet=fleet)
    [closed] = [each for each in fleet.findings if each.kind == "errors"]
    assert closed.closed_at is not None


def test_samples_run_again_are_one_finding_per_task() -> None:
    fleet = judged(
        samples_seen(sample(1, retries=1), sample(2)),
        samples_seen(sample(2, retries=2), whole=False),
        fleet=RUNNING,
    )
    [retries] = fleet.findings
    assert retries.text == "2 samples were run again (3 retries)"


def test_a_new_attempt_closes_what_was_open_of_the_last() -> None:
    fleet = judged(
        tasks_seen(task_row(errored=3)),
        tasks_seen(task_row(eval_id="second", errored=1)),
        fleet=RUNNING,
    )
    assert [each.closed_at is None for each in fleet.findings] == [True, False]


def test_an_unreadable_log_is_open_until_it_is_read() -> None:
    unreadable = LogUnreadable(at=NOW, task=task_key(), reason="no such file")
    fleet = judged(tasks_seen(task_row(status="completed")), unreadable, fleet=RUNNING)
    assert fleet.findings[0].kind == "log"
    assert "no such file" in fleet.findings[0].text
    fleet = judged(log_read("success"), fleet=fleet)
    [log] = [each for each in fleet.findings if each.kind == "log"]
    assert log.closed_at is not None


def test_an_open_finding_about_something_dismissed_is_closed() -> None:
    fleet = judged(
        process_seen(state=ProcessState.HEADLESS),
        tasks_seen(task_row(errored=3)),
        process_gone(),
        Dismissed(at=NOW + 5, process=process_key()),
        fleet=RUNNING,
    )
    assert all(each.closed_at is not None for each in fleet.findings)


def test_findings_are_bounded_and_the_oldest_closed_ones_go_first() -> None:
    fleet = Fleet()
    for number in range(MAX_FINDINGS + 50):
        finding = Finding(
            id=str(number),
            kind="link",
            severity="suspect",
            opened_at=number,
            closed_at=None if number == 0 else number,
            machine=H1,
            text="x",
        )
        fleet = with_findings(fleet, (finding,))
    assert len(fleet.findings) == MAX_FINDINGS
    assert fleet.findings[0].id == str(MAX_FINDINGS + 49)
    assert fleet.findings[-1].id == "0"
