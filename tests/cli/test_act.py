"""`evalroom act`, `config-set` and `undo` as a program: plans, exit statuses, JSON, the journal."""

from collections.abc import Iterator
from typing import Any

import pytest

from cli.commands.act import status_of
from core.act.executor import OrderReport
from core.act.plan import Step
from core.ctl import routes
from core.ids import MachineName, ProcessKey
from core.model.action import Action, Verb, offer_of
from core.model.order import OrderState, Outcome
from tests.support.commands import EVALROOM, Home, machine
from tests.support.evals import Eval, running_evals
from tests.support.terminal import Terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.xdist_group("acted_by_command")


@pytest.fixture(scope="module")
def one() -> Iterator[Eval]:
    """A process whose tasks go on until they are ended; some samples of `errors` erred."""
    with running_evals() as evals:
        started = evals.start(
            "turns", "errors",
            args={"samples": 400, "turns": 300, "sleep": 6, "always": 2, "first": 0},
            options=("--max-tasks=2", "--max-samples=3", "--no-fail-on-error"),
        ).wait_ready()  # fmt: skip
        started.wait_rows(lambda rows: len(rows) > 1)
        yield started


@pytest.fixture
def home(home: Home, one: Eval) -> Iterator[Home]:
    """A home that watches it; no pause is left behind."""
    home.watch_here(one.data_dir)
    yield home
    one.post(f"/tasks/{one.task('turns')['task_id']}/resume")
    one.resume()


def paused(one: Eval) -> Any:
    """Which latches hold the first task."""
    return one.task("turns")["paused"]


def test_a_dry_run_changes_nothing_and_reports_all_in_fields(home: Home, one: Eval) -> None:
    ran = home.run("act", "pause", "turns", "--dry-run", "--json")
    assert (ran.status, ran.err) == (0, "")
    answer = ran.json
    assert (answer["action"], answer["dry_run"]) == ("pause", True)
    [target] = answer["targets"]
    task_id = one.task("turns")["task_id"]
    assert (target["machine"], target["pid"], target["task_id"]) == ("here", one.pid, task_id)
    assert target["command"].endswith(f"ctl task pause {task_id}")
    assert target["preview"]["fields"]["dry_run"] is True
    assert "in flight" in target["preview"]["sentence"]
    assert "outcome" not in target
    assert paused(one) is None


def test_a_command_leaves_no_finding_open_that_only_it_would_close(home: Home, one: Eval) -> None:
    wait_until(lambda: one.task("errors")["samples"]["errored"], "a sample erred")
    for _ in range(2):
        assert home.run("act", "pause", "errors", "--dry-run").status == 0
    assert home.run("findings", "--json").json["findings"] == []


def test_without_yes_and_without_a_terminal_it_is_refused_after_the_preview(
    home: Home, one: Eval
) -> None:
    ran = home.run("act", "pause", "turns")
    assert ran.status == 4
    assert "dry run" in ran.out
    assert "--yes" in ran.err
    assert paused(one) is None


def test_a_yes_does_it_a_repeat_changes_nothing_and_undo_takes_it_back(
    home: Home, one: Eval
) -> None:
    ran = home.run("act", "pause", "turns", "--yes", "--reason", "a quiet night", "--json")
    assert ran.status == 0
    assert ran.json["targets"][0]["outcome"] == {"state": "done", "message": "paused"}
    assert paused(one) == ["task"]
    again = home.run("act", "pause", "turns", "--yes", "--json")
    assert again.status == 0
    assert again.json["targets"][0]["outcome"]["state"] == "no change"
    undone = home.run("undo", "--yes")
    assert (undone.status, undone.err) == (0, "")
    assert undone.out.startswith("Undo pause: turns on here: affects")
    assert "an undo can't be undone" in undone.out
    assert paused(one) is None
    orders = home.run("journal", "--json").json["orders"]
    assert [order["action"]["verb"] for order in orders] == ["resume", "pause"]
    assert [order["state"] for order in orders] == ["done", "done"]
    assert orders[1]["reason"] == "a quiet night"
    nothing = home.run("undo", "--yes")
    assert nothing.status == 2
    assert "nothing can be undone" in nothing.err


def test_a_destructive_action_needs_its_words_and_yes_does_not_replace_them(
    home: Home, one: Eval
) -> None:
    words = ("act", "drain", "turns")
    assert home.run(*words, "--yes").status == 4
    wrong = home.run(*words, "--confirm", "turn")
    assert wrong.status == 4
    assert "turns" in wrong.err
    assert one.task("turns")["resolving"] is None
    sample = next(row["sample_id"] for row in one.samples("turns") if row["status"] == "running")
    ran = home.run(
        "act", "cancel", f"turns#{sample}", "--manner", "score", "--confirm", f"{sample}/1"
    )
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "keys", "status"),
    [
        (("act", "drain", "turns"), "turn\r", 4),
        (("act", "drain", "turns"), "y\r", 4),
        (("act", "drain", "turns"), "\x04", 4),
        (("act", "drain", "turns"), "\x03", 130),
        (("act", "pause", "turns"), "\r", 4),
        (("act", "pause", "turns"), "\x04", 4),
        (("config-set", "turns", "--max-samples", "4"), "n\r", 4),
    ],
)
def test_another_answer_at_a_terminal_sends_nothing(
    home: Home, one: Eval, words: tuple[str, ...], keys: str, status: int
) -> None:
    terminal = Terminal((*EVALROOM, *words), env=home.env, cwd=home.folder)
    try:
        terminal.until("type turns to confirm: " if "drain" in words else "? [y/N] ")
        terminal.type(keys)
        assert terminal.wait_end() == status
    finally:
        terminal.close()
    assert (paused(one), one.task("turns")["resolving"]) == (None, None)
    assert home.run("journal", "--json").json["orders"] == []


def test_an_answer_at_a_terminal_does_it_and_undo_asks_too(home: Home, one: Eval) -> None:
    for words, answer, after in (
        (("act", "pause", "turns"), "y", ["task"]),
        (("undo",), "n", ["task"]),
        (("undo",), "yes", None),
    ):
        terminal = Terminal((*EVALROOM, *words), env=home.env, cwd=home.folder)
        try:
            terminal.until("? [y/N] ")
            terminal.type(f"{answer}\r")
            assert terminal.wait_end() == (4 if answer == "n" else 0)
        finally:
            terminal.close()
        assert paused(one) == after


def test_a_closed_input_is_never_read(home: Home, one: Eval) -> None:
    for words, how in (
        (("act", "pause", "turns"), "add --yes"),
        (("act", "drain", "turns"), "add --confirm 'turns'"),
    ):
        ran = home.run_closed(*words)
        assert ran.status == 4
        assert ran.err == f"evalroom: not confirmed: nothing was sent\n  {how}\n"
    assert paused(one) is None


def test_withheld_text_comes_only_with_content(home: Home, one: Eval) -> None:
    one.wait_rows(lambda rows: any(row["samples"]["errored"] for row in rows))
    words = ("act", "requeue", "errors", "--errored", "--dry-run", "--json")
    without = home.run(*words)
    assert without.status == 0
    assert "can never be read" not in without.out
    preview = without.json["targets"][0]["preview"]
    assert preview["withheld"][0].startswith("error, ")
    assert "can never be read" in home.run(*words, "--content").out


def test_knobs_are_set_under_inspects_names_and_wrong_values_say_what_is_allowed(
    home: Home, one: Eval
) -> None:
    ran = home.run("config-set", "turns", "--max-samples", "2", "--max-retries", "5", "--yes")
    assert (ran.status, ran.err) == (0, "")
    task_id = one.task("turns")["task_id"]
    view = one.get(routes.task_config(task_id))
    assert (view["max_samples"]["limit"], view["retry"]["max_retries"]) == (2, 5)
    cleared = home.run("config-set", "turns", "--max-retries", "clear", "--yes")
    assert cleared.status == 0
    assert one.get(routes.task_config(task_id))["retry"]["max_retries"] is None
    for option, value in (("--max-samples", "0"), ("--max-sandboxes", "clear"), ("--timeout", "x")):
        wrong = home.run("config-set", "turns", option, value, "--yes")
        assert wrong.status == 2
        assert option in wrong.err
        assert "whole number" in wrong.err


@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (("act", "fly", "turns"), 2, "no action is called fly"),
        (("act", "pause"), 2, "no TARGET"),
        (("act", "pause", "nowhere"), 2, "no task matches"),
        (("act", "drain", "turns", "--now"), 2, "--now goes with pause"),
        (("act", "keep", "turns"), 2, "keep"),
        (("act", "pause", "--model", "no/such", "--yes"), 2, "no selected process runs"),
        (("act", "pause", "--on", "mars"), 2, "no machine is called mars"),
        (("config-set", "turns"), 2, "no knob was given"),
        (("--read-only", "act", "pause", "turns", "--yes"), 4, "read-only"),
    ],
)
def test_wrong_words_and_refusals_are_sentences_and_nothing_is_sent(
    home: Home, one: Eval, words: tuple[str, ...], status: int, output: str
) -> None:
    ran = home.run(*words)
    assert ran.status == status, (ran.out, ran.err)
    assert output in ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
    assert paused(one) is None


def test_one_gesture_on_all_tasks_a_process_a_machine_a_model(home: Home, one: Eval) -> None:
    everything = home.run("act", "pause", "--all", "--dry-run", "--json").json["targets"]
    assert {target["task_id"] for target in everything} == {row["task_id"] for row in one.tasks()}
    process = home.run("act", "pause", f"here:{one.pid}", "--yes", "--json")
    assert process.status == 0
    assert one.task("turns")["process_paused"] is True
    home.run("act", "resume", "here:", "--yes")
    assert one.task("turns")["process_paused"] is False
    model = home.run("act", "pause", "--model", "mock/talker", "--on", "here", "--yes", "--json")
    assert model.json["targets"][0]["model"] == "mock/talker"
    assert one.task("turns")["paused_models"] == ["mock/talker"]
    assert home.run("act", "resume", "--model", "mock/talker", "--yes").status == 0
    assert one.task("turns")["paused_models"] == []


def test_left_out_targets_are_named(home: Home, one: Eval) -> None:
    ran = home.run("act", "release", "here:", "--dry-run")
    assert ran.status == 0
    assert f"skipped 1: the process is not set to stay alive\n  here {one.pid}\n" in ran.out


def test_an_action_on_the_wrong_kind_of_thing_says_what_to_name(home: Home, one: Eval) -> None:
    del one
    ran = home.run("act", "cancel-call", "turns", "--dry-run")
    assert (ran.status, ran.out) == (2, "")
    assert "doesn't apply to a task" in ran.err
    assert "TASK#ID/EPOCH" in ran.err
    ran = home.run("act", "drain", "here:", "--dry-run")
    assert ran.status == 2
    assert "machine:task-id" in ran.err


@pytest.mark.parametrize(
    ("states", "status"),
    [
        (["done", "no change"], 0),
        (["done", "failed"], 1),
        (["unknown"], 1),
        (["done", "refused"], 4),
        (["done", None], 4),
        (["refused", "failed"], 1),
    ],
)
def test_the_exit_status_shows_how_the_orders_ended(states: list[str | None], status: int) -> None:
    """None stands for a target that changed since its preview."""
    target = ProcessKey(MachineName("here"), 7, "s")
    action = Action(verb=Verb.KEEP)
    offer = offer_of(action, "process")
    assert offer is not None
    step = Step(
        target=target, action=action, offer=offer, name="7", where="here", command="c", basis={}
    )
    reports = [
        OrderReport(
            index=index,
            step=step,
            outcome=None if state is None else Outcome(state=OrderState(state), message="m"),
        )
        for index, state in enumerate(states)
    ]
    assert status_of(reports) == status


def test_where_no_machine_answers_it_ends_with_3(home: Home) -> None:
    home.configure(machine("dead", command=["/bin/false"]))
    ran = home.run("act", "pause", "turns", "--yes", "--json")
    assert ran.status == 3
    assert ran.json["targets"] == []


def test_a_requeue_where_nothing_is_errored_changes_nothing(home: Home) -> None:
    ran = home.run("act", "requeue", "turns", "--errored", "--yes", "--json")
    assert (ran.status, ran.err) == (0, "")
    assert ran.json["targets"] == []
