"""What a spec changes beyond its eval is said in the plan; secrets in it are refused."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cli.render.checks import checked_plan_lines
from cli.render.run_plans import run_plan_lines
from core.fleet import Fleet
from core.launch.plan.matrix import RunRequest
from core.launch.plan.risks import author_warning, risks_by_key
from core.launch.preflight.checks import CheckedPlan
from core.launch.spec.secret_patterns import has_secret_shape, holds_secret, is_secret
from core.launch.spec.spec_author import author_of
from core.launch.spec.spec_reader import check_spec, read_spec
from core.launch.spec.spec_writer import spec_table
from core.views.launch.launch_plan import head_lines
from tests.hostile.spec import CODE_VARIABLES, RISKY, SECRETS
from tests.support.specs import plan, spec


def said(more: str) -> list[str]:
    return [text for _, texts in risks_by_key(spec(more)) for text in texts]


def test_a_usual_spec_has_no_risk() -> None:
    usual = (
        'log_dir = "~/logs"\npackages = ["inspect-evals", "vllm>=0.8"]\nenv = { HF_HOME = "/data" }'
    )
    assert said(usual) == []
    assert said('base_url = "http://localhost:8000/v1"\nlog_dir = "s3://bucket/logs"') == []


@pytest.mark.parametrize("name", CODE_VARIABLES)
def test_variables_that_decide_what_code_runs_are_reported(name: str) -> None:
    [line] = said(f'env = {{ {name} = "/x" }}')
    assert line == f"env sets {name}, which decides what code the eval runs"


@pytest.mark.parametrize(("more", "says"), RISKY)
def test_odd_values_are_allowed_and_reported(more: str, says: str) -> None:
    assert says in "; ".join(said(more))


@pytest.mark.parametrize(("name", "value"), SECRETS)
def test_a_secret_by_name_or_by_shape_is_refused_and_the_way_is_named(
    name: str, value: str
) -> None:
    assert is_secret(name, value)
    base = 'task = "evalroom/smoke"\nmodel = "mockllm/model"\nmachine = "any"\non_error = "stop"\n'
    if holds_secret(value):
        _, wrong = check_spec(base + f"notes = '''{value}'''", "s.toml")
        assert wrong
        assert value not in wrong[0].message + wrong[0].advice
    for more in (f"env = {{ {name} = '''{value}''' }}", f"args = {{ {name} = '''{value}''' }}"):
        _, wrong = check_spec(base + more, "s.toml")
        text = "; ".join(each.message + each.advice for each in wrong)
        assert "secrets" in text
        assert value not in text


@pytest.mark.parametrize(
    "value",
    [
        "meta-llama/Llama-3.1-8B-Instruct-Turbo-2024-11-30",
        "anthropic/claude-3-5-sonnet-20241022",
        "0123456789abcdef0123456789abcdef01234567",
        "550e8400-e29b-41d4-a716-446655440000",
        "s3://my-bucket/Team-A/Run-2026-11-30T10-20-30/logs",
        "/data/Models/Qwen2.5-72B-Instruct-GPTQ-Int4/snapshots",
        "SOME_LONG_CONSTANT_NAME_WITH_2_NUMBERS_IN_IT_42",
        "You are a helpful assistant. Answer in one word.",
        "pneumonoultramicroscopicsilicovolcanoconiosis",
    ],
)
def test_usual_values_have_no_shape_of_a_secret(value: str) -> None:
    assert not has_secret_shape(value)


def test_a_spec_of_someone_else_names_first_whose_secrets_it_would_use(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'task = "evalroom/smoke"\nmodel = "mockllm/model"\nmachine = "any"\non_error = "stop"\n'
        'secrets = { TOKEN = "OPENAI_API_KEY" }\nenv = { PATH = "/x" }\n'
    )
    assert read_spec(str(path)).author == author_of(path) == ""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 65533, -1)
    found = read_spec(str(path))
    assert found.author == "uid 65533"
    says = author_warning(found)
    assert says == "uid 65533 wrote this spec, not you: it would get your secrets OPENAI_API_KEY"
    asked = RunRequest(spec=found, asked="any", candidates=())
    made = replace(plan(spec("")), request=asked)
    assert says in run_plan_lines(made)[1]
    assert next(iter(head_lines([CheckedPlan(plan=made)], Fleet())))[0].text == says
    assert says in list(checked_plan_lines(CheckedPlan(plan=made)))[1]
    assert "author" not in spec_table(found)
    assert author_warning(spec("")) == ""
