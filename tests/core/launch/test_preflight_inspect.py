"""The interpreter, its Inspect, the task and its packages: each trouble is a sentence."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.fleet import Fleet
from core.launch.preflight.assessment import assess_run
from core.launch.preflight.inspect_checks import options_of
from core.launch.preflight.survey_facts import SurveyFacts, TaskFacts
from core.model.machine import ToolState
from tests.support.specs import plan, spec
from tests.support.surveys import (
    GIVEN,
    OWN,
    OWN_SPEC,
    PYTHON,
    WELL,
    failed,
    folder,
    found,
    judged,
    mine,
    of,
    texts,
    with_inspect,
    with_task,
    with_task_facts,
)


def test_where_all_is_well_nothing_keeps_a_run_from_starting() -> None:
    checks = judged(spec())
    assert texts(checks) == []
    assert [each.name for each in checks] == ["python", "Inspect", "task", "disk"]
    assert texts(judged(mine(), with_task())) == []


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        (replace(WELL, inspect=failed(ToolState.ABSENT)),
         f"stop python: {PYTHON} does not exist on the machine; set `python`"),
        (replace(WELL, inspect=failed(ToolState.FAILED, "not executable")),
         f"stop python: {PYTHON} does not run: not executable"),
        (replace(WELL, inspect=failed(ToolState.STUCK, "no answer in 29 s")),
         f"warning python: {PYTHON} did not answer: no answer in 29 s"),
        (with_inspect(WELL, inspect=None),
         f"stop Inspect: {PYTHON} does not have Inspect; {PYTHON} -m pip install -U 'inspect"),
        (with_inspect(WELL, imported=False, broken="ImportError: libfoo.so"),
         "stop Inspect: Inspect 0.3.285 can't be imported: ImportError: libfoo.so"),
        (with_inspect(WELL, imported=False, error="no answer in 29 s"),
         "warning Inspect: Inspect 0.3.285 did not answer: no answer in 29 s"),
        (with_inspect(WELL, inspect="0.3.246"),
         f"stop Inspect: Inspect 0.3.246 does not have --detach; {PYTHON} -m pip install -U"),
        (with_inspect(WELL, inspect="0.3.252"),
         "warning Inspect: Inspect 0.3.252 is too old to pause now, drain task, cancel tool"),
    ],
)  # fmt: skip
def test_an_interpreter_that_will_not_do_is_reported(facts: SurveyFacts, says: str) -> None:
    sentences = texts(judged(spec(GIVEN), facts))
    assert any(each.startswith(says) for each in sentences), sentences


def test_options_that_this_inspect_does_not_have_are_named() -> None:
    asked = spec(GIVEN + "options = { brand_new = 1 }\nturn_limit = 5")
    has = set(options_of(plan(asked))) - {"--brand-new", "--turn-limit"}
    [sentence] = texts(judged(asked, with_inspect(WELL, options=tuple(has))))
    assert sentence.startswith(
        "stop Inspect: Inspect 0.3.285 does not have --turn-limit, --brand-new; remove the options"
    )


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"state": "no file", "error": "/evals/t.py"},
         "stop task: the file /evals/t.py does not exist"),
        ({"state": "no task", "near": ("main", "min")},
         f"stop task: Inspect can't find the task {OWN}; similar names: main, min"),
        ({"state": "fails", "kind": "SyntaxError", "error": "SyntaxError: bad", "place": "t.py:3"},
         f"stop task: {OWN} can't be imported: SyntaxError: bad (t.py:3)"),
        ({"state": "fails", "kind": "ModuleNotFoundError", "module": "foo.bar", "error": "x"},
         f'stop packages: {PYTHON} lacks foo, which {OWN} needs; set packages = ["foo"] so'),
        ({"state": "unknown", "error": "cannot import name x"},
         f"warning task: the machine's Inspect can't check {OWN}"),
        ({"state": "ok", "arguments": ("a", "b")},
         f"warning task: {OWN} has no argument zzz; Inspect will ignore it silently; its"),
    ],
)  # fmt: skip
def test_a_task_that_will_not_do_is_reported(answer: Mapping[str, Any], says: str) -> None:
    [one] = texts(judged(mine("args = { zzz = 1 }"), with_task(**answer)))
    assert one.startswith(says)


def test_a_task_that_did_not_come_within_its_time_is_a_warning() -> None:
    facts = with_inspect(WELL, error="no answer in 29 s")
    [sentence] = texts(judged(mine(), facts))
    assert "unknown whether" in sentence
    assert "no answer in 29 s" in sentence


def test_an_error_that_a_missing_secret_may_explain_is_a_warning() -> None:
    facts = with_task(state="fails", kind="KeyError", error="KeyError: 'MY_TOKEN'")
    [sentence] = texts(judged(mine('secrets = ["MY_TOKEN"]'), facts, secrets=("MY_TOKEN",)))
    assert sentence.startswith("warning task")
    assert texts(judged(mine(), facts))[0].startswith("stop task")


def test_code_that_is_fetched_first_is_not_a_missing_file() -> None:
    asked = spec(
        GIVEN + 'code = { repository = "https://h/r", ref = "main" }',
        text=OWN_SPEC.replace("/evals/", ""),
    )
    made = plan(asked)
    facts = with_task_facts(WELL, f"{made.directory}/code/t.py@mine", TaskFacts(state="no file"))
    checks = assess_run(made, facts, Fleet())
    assert texts(checks) == []
    assert any("its code will be checked out" in each.message for each in checks)


def test_all_that_is_lacking_is_offered_in_one_line() -> None:
    asked = spec(
        GIVEN + 'secrets = ["OPENAI_API_KEY"]',
        text=of("inspect_evals/gpqa_diamond", "openai/x"),
    )
    facts = with_inspect(
        WELL,
        packages={"openai": None},
        tasks={"inspect_evals/gpqa_diamond": TaskFacts(state="no package", module="inspect_evals")},
    )
    [sentence] = texts(judged(asked, facts, secrets=("OPENAI_API_KEY",)))
    assert sentence == (
        f"stop packages: {PYTHON} lacks inspect-evals, openai, which inspect_evals/gpqa_diamond,"
        ' openai/x need; set packages = ["inspect-evals", "openai"] so that uv installs'
        f" them; or run on the machine: {PYTHON} -m pip install inspect-evals openai"
    )


UNCACHED = failed(ToolState.FAILED, "error: No solution found when resolving tool dependencies")


def test_packages_that_uv_must_fetch_first_are_fine_with_a_network() -> None:
    asked = spec('inspect = "0.3.285"')
    facts = replace(WELL, inspect=UNCACHED)
    assert texts(judged(asked, facts)) == []
    assert WELL.host.value is not None
    cut_off = replace(facts, host=found(replace(WELL.host.value, has_route=False)))
    [sentence] = texts(judged(asked, cut_off))
    assert sentence.startswith("stop uv: uv must download Inspect 0.3.285, but the machine has no")
    old = judged(spec('inspect = "0.3.246"'), facts)
    assert any("0.3.246 does not have --detach" in each for each in texts(old))
    no_exec = replace(facts, places={"~": found(folder(no_exec=True))})
    assert texts(judged(asked, no_exec))[0].startswith("stop uv: the home folder is mounted noexec")


def test_a_package_that_the_spec_does_not_name_is_offered_by_its_name() -> None:
    asked = spec(
        'packages = ["inspect-evals[cybench]"]\nenv = { CYBENCH_ACKNOWLEDGE_RISKS = "1" }',
        text=of("inspect_evals/cybench", "openai/x"),
    )
    facts = replace(WELL, inspect=UNCACHED, variables=found(("OPENAI_API_KEY",)))
    sentences = texts(judged(asked, facts))
    assert 'set packages = ["inspect-evals[cybench]", "openai"]' in sentences[1]
    assert [each.split(":")[0] for each in sentences] == ["warning task", "warning packages"]
