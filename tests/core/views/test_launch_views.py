"""Runs, the launch form and the plan of a launch as rows and lines."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from core.fleet import Fleet
from core.launch.form.form import Form, form_of_template
from core.launch.form.validation import CheckedForm, check_form
from core.launch.preflight.checks import Check, CheckedPlan, CheckLevel
from core.launch.spec.templates import BUILT_IN_TEMPLATES
from core.model.log_summary import LogBuffer
from core.model.run import RunLog, RunState
from core.views.cells import Span
from core.views.changes import only_older
from core.views.header.run_totals import run_totals
from core.views.launch.launch_choices import choices_for
from core.views.launch.launch_form import (
    PLAN,
    READS,
    FormContext,
    FormRow,
    explained,
    form_rows,
    spec_lines,
    template_text,
)
from core.views.launch.launch_plan import (
    body_lines,
    foot_lines,
    head_lines,
    launched_lines,
    words_of,
)
from core.views.pages.page import Page
from core.views.pages.run_page import inspect_command, launch_command, output_lines, run_page
from core.views.tables.runs import runs_table, way_to_tasks
from tests.support.busy_fleets import busy_fleet
from tests.support.fleets import H1, H2, NOW, process_key, task_key
from tests.support.hostile_fleets import HOSTILE
from tests.support.runs import EU, every_run, run, with_runs
from tests.support.specs import LOCAL, plans, spec

FLEET = with_runs(busy_fleet(), every_run())
BAD = ("\x1b", "\x9b", "\u202e", "\u200b", "\x07", "\n", "\ud800")


def words(lines: Iterable[Iterable[object]]) -> str:
    return "\n".join("".join(s.text for s in line if isinstance(s, Span)) for line in lines)


def page_words(page: Page) -> str:
    return words(fact.value for section in page.sections for fact in section.facts)


def cell(number: int, column: str, fleet: Fleet = FLEET) -> str:
    rows = {row.key: row for row in runs_table(fleet, NOW).rows}
    return words([rows[run(number).id].cells[column]])


# Runs


def test_runs_are_listed_newest_first_with_sign_and_word() -> None:
    table = runs_table(FLEET, NOW)
    ids = [row.key for row in table.rows]
    assert ids == [run(number).id for number in (5, 6, 4, 3, 2, 7, 1)]
    assert table.footer == "3 active · 7 total"
    assert (cell(2, "sign"), cell(2, "state")) == ("✗", "error")
    assert (cell(4, "time"), cell(4, "engine")) == ("4:57", "tmux")


def test_a_run_says_its_score_or_what_became_of_it_and_whose_it_is() -> None:
    assert cell(1, "result") == "accuracy .70 ±.15"
    assert cell(2, "result").startswith("the run did not start")
    assert cell(5, "result") == ""
    assert (cell(1, "by"), cell(3, "by")) == ("ada", "bob, not you")


def test_the_way_of_a_run_is_to_its_task_else_its_process() -> None:
    runs = FLEET.runs
    assert way_to_tasks(FLEET, runs[run(4).id]) == task_key("t1", H1, 100)
    bare = process_key(H1, 100)
    process = replace(FLEET.processes[bare], tasks=())
    fleet = replace(FLEET, processes={**FLEET.processes, bare: process})
    assert way_to_tasks(fleet, runs[run(4).id]) == bare
    assert way_to_tasks(FLEET, runs[run(2).id]) is None
    elsewhere = replace(runs[run(4).id], machine=H2)
    assert way_to_tasks(FLEET, elsewhere) is None


def test_the_header_counts_runs_on_their_way_and_what_failed_lately() -> None:
    assert words([run_totals(FLEET, NOW)]) == "4 runs 1 error 2 starting 1 running"
    assert run_totals(with_runs(Fleet(), [run(1, RunState.SUCCESS)]), NOW) == ()


def test_the_header_counts_every_run_that_ended_lately_by_its_own_word() -> None:
    states = [RunState.SUCCESS] * 7 + [RunState.ERROR] * 4 + [RunState.CANCELLED]
    runs = [run(number, state) for number, state in enumerate(states)]
    text = words([run_totals(with_runs(Fleet(), runs), NOW)])
    assert text == "12 runs 4 error 7 success 1 cancelled"


def test_a_run_that_changed_is_news_to_draw() -> None:
    assert not only_older(FLEET, with_runs(FLEET, [run(5, RunState.RUNNING, machine=H2)]))
    assert only_older(FLEET, replace(FLEET, at=FLEET.at + 1))


def test_the_page_of_a_failed_run_says_where_to_look_first() -> None:
    runs = FLEET.runs
    never = page_words(run_page(FLEET, runs[run(2).id], NOW))
    assert "see the end of its output" in never
    errored = page_words(run_page(FLEET, runs[run(7).id], NOW))
    assert "6 x TimeoutError (such as sample q4)" in errored
    assert f"evalroom run {run(7).id} --content" in errored
    assert "3 of 10 samples" in errored
    lost = page_words(run_page(FLEET, runs[run(3).id], NOW))
    assert "out of memory" in lost
    done = run_page(FLEET, runs[run(1).id], NOW)
    assert "Check first" not in [each.title for each in done.sections]


def test_the_command_that_recovers_the_log_of_a_run_finds_its_buffer() -> None:
    log = RunLog(
        location="/l/a b.eval", status="started", buffer=LogBuffer(completed=3, in_progress=1)
    )
    lost = run(3, RunState.LOST, logs=(log,), command_line="/v/python -m inspect_ai eval-set t.py")
    inspect = "/v/python -m inspect_ai log recover '/l/a b.eval'"
    assert f"\n{inspect}" in page_words(run_page(FLEET, lost, NOW))
    moved = replace(lost, data_dir="~/my data")
    assert f"XDG_DATA_HOME=\"$HOME\"'/my data' {inspect}" in page_words(run_page(FLEET, moved, NOW))


def test_the_command_that_runs_inspect_again_sets_what_the_script_of_the_run_set() -> None:
    table = {
        "env": {"A_B": "x y", "odd;name": "z"},
        "code": {"repository": "r"},
        "secrets": {"OPENAI_API_KEY": "openai"},
    }
    one = run(3, RunState.LOST, command_line="/v/python eval-set t.py", data_dir="/d", spec=table)
    assert inspect_command(one) == (
        f"cd {one.directory} && XDG_DATA_HOME=/d A_B='x y' PYTHONPATH=~/.evalroom/runs/"
        f"{one.id}/code /v/python eval-set t.py"
    )
    assert "they hold secrets: OPENAI_API_KEY" in page_words(run_page(FLEET, one, NOW))


def test_a_process_that_the_room_does_not_show_is_not_there_yet_or_any_more() -> None:
    for state, what in (
        (RunState.RUNNING, "is not listed yet"),
        (RunState.SUCCESS, "is no longer listed"),
    ):
        text = page_words(run_page(Fleet(), run(9, state, pid=4711), NOW))
        assert f"pid 4711 {what}" in text


def test_the_page_shows_spec_and_commands() -> None:
    page = run_page(FLEET, FLEET.runs[run(4).id], NOW)
    text = page_words(page)
    assert 'task = "evalroom/smoke"' in text
    assert f"cd ~/.evalroom/runs/{run(4).id} && /opt/venv/bin/python -m inspect_ai" in text
    assert "tmux -L evalroom attach -t '=run4'" in text


def test_the_launch_command_holds_the_whole_spec() -> None:
    text = launch_command(run(1))
    assert text.startswith("evalroom launch - <<'END'\ntask = ")
    assert text.endswith("args = { samples = 10, pass_rate = 0.7 }\nEND\n")
    assert '"x": null' in launch_command(run(1, spec={"args": {"x": None}}))


def test_output_is_read_as_a_terminal_would_have_left_it() -> None:
    data = b"cut off\n\x1b[32mgreen\x1b[0m\r\n 10%\r 50%\r100%\nlast \x1b]52;c;x\x07\xff\n"
    assert words(output_lines(data, is_cut=True)) == "green\n100%\nlast �"
    assert output_lines(b"\n \n", is_cut=False) == ()
    assert words(output_lines(b"\n\na\n" + b"  \n" * 30 + b"b\n", is_cut=False)) == "a\n\nb"


def test_nothing_hostile_of_a_run_is_drawn() -> None:
    evil = HOSTILE + "x" * 50_000
    log = RunLog(location=evil, status=evil, task=evil, model=evil)
    hostile = run(
        1, RunState.ERROR, machine=H1, operator=evil, task=evil, model=evil, engine=evil,
        is_ours=False, spec={evil: evil, "task": {evil: [evil]}}, directory=f"~/{evil}",
        log_dir=evil, command_line=evil, message=evil, logs=(log,), attach=(evil, "\0"),
    )  # fmt: skip
    fleet = with_runs(busy_fleet(), [hostile])
    [row] = runs_table(fleet, NOW).rows
    drawn = [words(row.cells.values()), page_words(run_page(fleet, hostile, NOW))]
    drawn.append(words(output_lines(evil.encode("utf-8", "replace") * 3, is_cut=True)))
    for text in drawn:
        assert not any(bad in line for bad in BAD for line in text.split("\n"))
    assert all(len(line) < 25_000 for text in drawn for line in text.split("\n"))
    assert evil in inspect_command(hostile)


# The form


SMOKE = form_of_template(BUILT_IN_TEMPLATES[0])
HERE = FormContext()


def rows_of(form: Form, around: FormContext = HERE) -> tuple[dict[str, FormRow], CheckedForm]:
    checked = check_form(form, [LOCAL])
    return {row.name: row for row in form_rows(form, checked, around)}, checked


def test_a_field_shows_what_is_typed_or_what_a_blank_means() -> None:
    rows, _ = rows_of(SMOKE)
    assert rows["args"].value.text == "samples = 10, pass_rate = 0.7"
    assert (rows["limit"].value.text, rows["limit"].value.tone) == ("all", "dim")
    assert words([rows["on_error"].note]) == "Enter to choose"
    last, _ = rows_of(SMOKE, FormContext(last_on_error="continue"))
    assert last["on_error"].value.text == "needed; last time continue"
    assert rows[PLAN].value.text == "fix 1 field first"


def test_a_wrong_field_says_beside_it_what_is_allowed() -> None:
    rows, checked = rows_of(SMOKE.typed("limit", "few"))
    assert "whole number" in words([rows["limit"].note])
    assert rows["limit"].sign.text == "✗"
    text = words(explained(SMOKE, checked, HERE, "limit"))
    assert '"limit" is wrong: "few"' in text


def test_a_chosen_error_policy_is_explained_with_the_worst_case() -> None:
    form = SMOKE.typed("on_error", "continue")
    rows, checked = rows_of(form)
    assert words([rows["retry_attempts"].note]) == "at worst 110 sample runs (10 samples x 11)"
    text = words(explained(form, checked, HERE, "on_error"))
    assert "is retried up to 10 times" in text
    assert rows[PLAN].value.tone == "good"


def test_the_variables_of_the_model_are_listed_below_it_with_where_each_is_set() -> None:
    form = SMOKE.typed("model", "openai-api/acme/x").typed("secrets", "ACME_API_KEY = team")
    rows, checked = rows_of(form, FormContext(secrets=frozenset({"other"})))
    assert rows[f"{READS}ACME_API_KEY"].value.text == "set by secrets (team), not stored"
    assert rows[f"{READS}ACME_BASE_URL"].value.text == "needed"
    assert words([rows["secrets"].note]) == "not stored yet: team"
    assert "Enter moves to env" in words(explained(form, checked, HERE, f"{READS}ACME_BASE_URL"))
    kept, _ = rows_of(form, FormContext(secrets=frozenset({"team"})))
    assert kept[f"{READS}ACME_API_KEY"].value.text == "set by secrets (team), stored"


def test_the_spec_is_shown_as_its_file_and_written_without_what_is_wrong() -> None:
    _, checked = rows_of(SMOKE.typed("limit", "few").typed("tags", "a, b"))
    assert 'limit = "few"' in words(spec_lines(checked))
    text, left_out = template_text(checked, "As smoke")
    assert text.startswith('# As smoke\ntask = "evalroom/smoke"\n')
    assert 'tags = ["a", "b"]' in text
    assert left_out == ("limit",)


def test_nothing_hostile_that_is_typed_or_was_launched_is_drawn() -> None:
    form = Form(source=HOSTILE, texts=dict.fromkeys((*SMOKE.texts, "env", HOSTILE), HOSTILE))
    rows, checked = rows_of(form)
    drawn = [words([row.note, (row.value, row.sign), (Span(row.label),)]) for row in rows.values()]
    drawn += [words(explained(form, checked, HERE, name)) for name in rows]
    drawn.append(words(spec_lines(checked)))
    assert any(drawn)
    for text in drawn:
        assert not any(bad in line for bad in BAD for line in text.split("\n"))


def test_enter_offers_machines_by_name_and_tag_models_with_what_they_read_and_three_policies() -> (
    None
):
    tagged = replace(FLEET.machines[EU], tags=("gpu",))
    fleet = replace(FLEET, machines={**FLEET.machines, EU: tagged})
    machines = {each.typed: each.title for each in choices_for("machine", fleet, NOW)}
    assert {"h100-1", "gpu", "any"} <= set(machines)
    assert "a100-eu" in machines["gpu"]
    models = {each.typed: each for each in choices_for("model", fleet, NOW)}
    assert "OPENAI_API_KEY" in models["openai/"].title
    assert not models["openai/"].is_complete
    assert models["openai/gpt-5"].is_complete
    policies = [each.typed for each in choices_for("on_error", fleet, NOW)]
    assert policies == ["stop", "continue", "tolerate 0.1"]
    assert choices_for("limit", fleet, NOW) == ()


# The plan


OK = Check(name="python", level=CheckLevel.OK, message="3.12, Inspect 0.3.285")
STOP = Check(name="docker", level=CheckLevel.STOP, message="it does not answer", advice="start it")
WARN = Check(name="disk", level=CheckLevel.WARNING, message="2G free", advice="make room")


def checked_of(*sets: str, checks: tuple[Check, ...] = (OK,)) -> tuple[CheckedPlan, ...]:
    return tuple(CheckedPlan(plan=each, checks=checks) for each in plans(spec("", *sets)))


def on(fleet: Fleet, *, production: bool = False) -> Fleet:
    """Return a fleet whose first machine is called `local`."""
    machine = replace(fleet.machines[H1], name=LOCAL.name, production=production)
    return replace(fleet, machines={LOCAL.name: machine})


def test_a_plan_shows_machine_checks_files_command_and_names_of_variables() -> None:
    checked = checked_of('secrets=["K_KEY"]', "env.A=1")
    over = tuple(replace(each, passed_over=((EU, "no docker"),)) for each in checked)
    text = words(body_lines(over, Fleet(), details=False))
    for part in (
        "on local", "passed over a100-eu: no docker", "✓ python",
        "110 sample runs (10 samples x 11)",
        "spec.toml", "start.sh", "A, EVALROOM_RUN", "K_KEY", "eval-set", "--continue-on-fail",
    ):  # fmt: skip
        assert part in text, part


def test_a_stop_says_what_to_do_and_that_nothing_is_started() -> None:
    checked = checked_of(checks=(OK, STOP, WARN))
    assert words([head_lines(checked, Fleet())[-1]]) == "1 stop · 1 warning · 1 ok"
    text = words(body_lines(checked, Fleet(), details=False))
    assert "✗ docker  stop: it does not answer\n    → start it" in text
    assert "a check stops this run" in words(foot_lines(checked, Fleet()))


def test_many_runs_are_summed_up_with_the_stopped_ones_first() -> None:
    checked = checked_of('model=["mockllm/a","mockllm/b","mockllm/c"]')
    checked = (*checked[:2], replace(checked[2], checks=(STOP,)))
    text = words(body_lines(checked, Fleet(), details=False))
    assert text.startswith("3 of 3")
    assert "eval-set" not in text
    assert "eval-set" in words(body_lines(checked, Fleet(), details=True))
    assert "at worst 330 sample runs" in words(head_lines(checked, Fleet()))
    assert "x skips 1 run; 2 runs remain" in words(foot_lines(checked, Fleet()))


@pytest.mark.parametrize(
    ("models", "asked"),
    [('["mockllm/a"]', "local"), ('["mockllm/a", "mockllm/b"]', "launch 2")],
)
def test_one_run_on_a_production_machine_asks_for_its_name_several_for_their_number(
    models: str, asked: str
) -> None:
    checked = checked_of(f"model={models}")
    fleet = on(busy_fleet(), production=True)
    assert words_of(checked, fleet) == asked
    assert f"type {asked}" in words(foot_lines(checked, fleet))
    assert words_of(checked, on(busy_fleet())) == ""


def test_runs_on_several_production_machines_ask_for_the_verb_and_how_many() -> None:
    first, second = checked_of('model=["mockllm/a", "mockllm/b"]')
    second = replace(second, plan=replace(second.plan, machine=EU))
    fleet = on(busy_fleet(), production=True)
    eu = replace(busy_fleet().machines[EU], production=True)
    fleet = replace(fleet, machines={**fleet.machines, EU: eu})
    assert words_of((first, second), fleet) == "launch 2"


def test_after_the_start_each_run_is_listed_with_its_state() -> None:
    checked = checked_of('model=["mockllm/a", "mockllm/b"]')
    failed = replace(run(1, RunState.ERROR, message="no"), id=checked[0].plan.run)
    text = words(launched_lines([failed], checked))
    assert "✗ error" in text
    assert "\n  no\n" in text
    assert "∙ queued" in text
